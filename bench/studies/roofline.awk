# SPDX-License-Identifier: MIT
# A roofline on paper: how long each layer of a network takes at least on an Adreno, and what the
# compiler's slot counts make of it. An estimate: no Adreno ran anything for it.
#
#   cd bench/studies; awk -f roofline.awk adreno.tsv adreno_slots.tsv ../../cfg/yolov3-tiny.cfg
#
# floor     the longer one of: all multiply-adds at the peak; weights, input and output once through
#           memory
# estimate  cl_fill, then cl_image, each the longer one of: its issue slots, at a multiply-add a
#           slot; its bytes. The image of B is written once and read once. Partial tiles count as
#           whole ones. The slots take longer where the last round of groups of 128 items leaves
#           compute units idle.
# half      the same with an image of 16 bits
#
# Layers without multiply-adds read their input and write their output once. Waits, launches and
# caches are left out. Times are in ms.
#
# Columns of adreno_slots.tsv: adreno.sh.
BEGIN { FS = "\t"; group = 128 }
/^#/ || NF == 0 { next }
FILENAME ~ /adreno\.tsv$/ {
    gpu[++gpus] = $1; peak[$1] = $2 * 1e6; bandwidth[$1] = $3 * 1e6; units[$1] = $4; like[$1] = $5
    next
}
FILENAME ~ /slots\.tsv$/ { slots[$1, $2] = $6; mads[$1, $2] = $7; next }

# ---- the network ----
{ gsub(/[ \r]/, "") }
/^\[/ { end_section(); section = $0; split("", option); next }
{ split($0, pair, "="); option[pair[1]] = pair[2] }

function value(name, otherwise) { return name in option ? option[name] : otherwise }

function place(what) { return what < 0 ? layers + 1 + what : what + 1 }

# Ends a section: its layer has `c` channels of h x w.
function end_section(    size, stride, padding, names, n, i, in_elements)
{
    if (section == "") return
    if (section == "[net]" || section == "[network]") {
        c = value("channels", 3); h = value("height", 416); w = value("width", 416)
        return
    }
    in_elements = c * h * w
    size = value("size", 1); stride = value("stride", 1)
    ++layers
    macs[layers] = 0
    if (section == "[convolutional]") {
        padding = value("pad", 0) ? int(size / 2) : value("padding", 0)
        taps[layers] = size * size; channels[layers] = c
        h = int((h + 2 * padding - size) / stride) + 1
        w = int((w + 2 * padding - size) / stride) + 1
        c = value("filters", 1)
        M[layers] = c; N[layers] = h * w; K[layers] = channels[layers] * taps[layers]
        macs[layers] = M[layers] * N[layers] * K[layers]
        kind[layers] = sprintf("%d, %dx%d/%d", c, size, size, stride)
    } else if (section == "[maxpool]") {
        padding = value("padding", size - 1)
        h = int((h + padding - size) / stride) + 1; w = int((w + padding - size) / stride) + 1
        kind[layers] = "maxpool"
    } else if (section == "[upsample]") {
        h *= value("stride", 2); w *= value("stride", 2)
        kind[layers] = "upsample"
    } else if (section == "[route]") {
        n = split(value("layers", ""), names, ",")
        c = 0
        for (i = 1; i <= n; ++i) {
            c += c_of[place(names[i])]; h = h_of[place(names[i])]; w = w_of[place(names[i])]
        }
        in_elements = c * h * w
        kind[layers] = "route"
    } else if (section == "[yolo]") {
        kind[layers] = "yolo"
    } else {
        print "roofline.awk: " FILENAME ": no idea of " section >"/dev/stderr"
        failed = 1
        exit 1
    }
    c_of[layers] = c; h_of[layers] = h; w_of[layers] = w
    input[layers] = in_elements; output[layers] = c * h * w
}

# ---- times, in ms ----
function most(a, b) { return a > b ? a : b }
function up(x, y) { return int((x + y - 1) / y) }

function floor_of(g, l,    bytes)
{
    bytes = 4 * (input[l] + output[l] + (macs[l] ? M[l] * K[l] : 0))
    return most(2 * macs[l] / peak[g], bytes / bandwidth[g])
}

# The tile of cl_image as src/cl/rows.c has it: 8x8 from A7xx on where all units are full, else 8x4.
function tile_columns(g, l)
{
    return substr(g, 2) >= 700 && up(M[l], 8) * up(N[l], 8) >= 512 * units[g] ? 8 : 4
}

function estimate(g, l, element,    columns, name, items, groups, idle, work, image, fill)
{
    if (!macs[l]) return floor_of(g, l)
    columns = tile_columns(g, l)
    name = (taps[l] > 1 ? "conv3-8x" : "conv1-8x") columns
    if (!((like[g], name) in slots)) {
        print "roofline.awk: no slots of " name " for GPU " like[g] >"/dev/stderr"
        failed = 1
        exit 1
    }
    items = up(M[l], 8) * up(N[l], columns)
    groups = up(items, group)
    idle = up(groups, units[g]) * units[g] / groups
    if (N[l] < 256) idle = 1                    # K is cut into parts
    work = items * 8 * columns * K[l] * slots[like[g], name] / mads[like[g], name] * idle
    image = taps[l] > 1 ? element * N[l] * K[l] : 4 * input[l]
    fill = 0
    if (taps[l] > 1)
        fill = most(2 * up(N[l], 4) * channels[l] * slots[like[g], "fill3"] / peak[g],
                    (4 * input[l] + image) / bandwidth[g])
    return fill + most(2 * work / peak[g],
                       (image + 4 * (M[l] * K[l] + output[l])) / bandwidth[g])
}

END {
    if (failed) exit 1
    end_section()
    printf "| layer | what |"
    for (i = 1; i <= gpus; ++i) printf " %s: floor, estimate, half |", gpu[i]
    printf "\n|---|---|"
    for (i = 1; i <= gpus; ++i) printf "---|"
    print ""
    for (l = 1; l <= layers; ++l) {
        if (kind[l] == "yolo") continue
        printf "| %d | %s |", l - 1, kind[l]
        for (i = 1; i <= gpus; ++i) {
            g = gpu[i]
            low = floor_of(g, l); single = estimate(g, l, 4); half = estimate(g, l, 2)
            lows[g] += low; singles[g] += single; halves[g] += half
            printf " %.2f, %.2f, %.2f |", low, single, half
        }
        print ""
    }
    printf "| all | |"
    for (i = 1; i <= gpus; ++i)
        printf " %.1f, **%.1f**, %.1f |", lows[gpu[i]], singles[gpu[i]], halves[gpu[i]]
    print ""
}
