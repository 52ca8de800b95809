# SPDX-License-Identifier: MIT
# Makes a darknet.h in C of what probe.cpp says of hank-ai's Darknet. A struct is a union of its
# fields, each behind so many bytes that it lies where the C++ compiler puts it.
BEGIN { split("Layer Network NetworkState", owners, " "); split("layer network network_state", names, " ") }
$1 != "->" { next }
$2 == "SIZE" { size[$4] = $3; next }
$2 == "SYMBOL" { symbols = symbols "#define SYMBOL_" $4 " " $3 "\n"; next }
$2 == "LAYER_TYPE" || $2 == "ACTIVATION" || $2 == "WEIGHTS_NORMALIZATION_T" {
    values[$2] = values[$2] "    " $4 " = " $3 ",\n"
    next
}
{
    type = $5
    for (i = 6; i <= NF; ++i) type = type " " $i
    if ($4 == "type") type = "LAYER_TYPE"
    if ($4 == "activation") type = "ACTIVATION"
    fields[$2] = fields[$2] sprintf("        struct { char before_%s[%d]; %s %s; };\n", $4, $3, type, $4)
}
END {
    if (symbols == "" || !("NetworkState" in size)) exit 1
    print "/* hank-ai's Darknet for a C compiler: see src/hook/preload/probe.cpp. */"
    for (kind in values) printf "typedef enum {\n%s} %s;\n", values[kind], kind
    for (i = 1; i <= 3; ++i)
        printf "typedef struct %s {\n    union {\n%s        char whole[%d];\n    };\n} %s;\n",
            names[i], fields[owners[i]], size[owners[i]], names[i]
    printf "%s", symbols
}
