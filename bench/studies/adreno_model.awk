# SPDX-License-Identifier: MIT
# A model on paper of how long an Adreno takes for a kernel. No Adreno ran anything for it.
#
#   awk -v mode=points -f adreno_model.awk adreno.tsv adreno_counts.tsv adreno_loads.tsv adreno_points.tsv
#   awk -v mode=pass -v gpus="A640 A740" -v name=NETWORK -f adreno_model.awk adreno.tsv \
#       adreno_counts.tsv adreno_loads.tsv PASS...
#
# points: the table of published figures beside the model's, and how many are within 25%. Status 1
# where they are fewer than 8 of 10, of all or of those that nothing was fitted to.
# pass: the time of the launches of PASS (bench/studies/pass.sh), a line of the table for each GPU.
# With adreno_points.tsv before PASS it has a spread: the model's time over and under the published
# ones. With detail=1 lines of tabs: GPU, kernel, options, M x N x K, ms, what it is limited by, then
# ms of alu, texture, buffer and memory, and the resident waves.
#
# A unit gets whole work-groups. Their waves need, in cycles of the unit:
#   alu      issue slots, over the lanes of the unit; a wave of 64 items fills half of them
#   texture  reads of images (RGBA, 32 bits), TEXELS a lane and cycle
#   buffer   lines of 64 bytes that neighbouring items of a wave touch, LINES a lane and cycle
#   memory   bytes over the bandwidth. An operand larger than L2 is read again by each row of groups
# The longest of them counts whole. Of the others 1/n counts, because n resident waves hide each
# other's waits: the registers limit n, and the waves that there are. A launch and a wait cost what
# adreno.tsv says.
#
# Constants, and what they were taken from. Four, by six published figures (adreno_points.tsv: "fit").
# None of the others had a part in it:
#   TEXELS     reads of images: A730, 190 GB/s; by two multiplies with B as an image. The publisher's
#              loop of cached reads has 138 to 204
#   LINES      A730, 130 GB/s; by two multiplies by buffers. The publisher's loop has 97, by Vulkan 163
#   NARROW     the share of the lanes that a wave of 64 fills: A630 in waves of 64
#   FULL       registers of four floats at which Mesa's compiler has used all that there are. Such a
#              tile spills on a real A730 (64 sums: 866 to 141 GFLOP/s), so the smaller tile that its
#              publisher tried counts: a convolution by images
# A test sets them to its own.
BEGIN {
    FS = "\t"
    if (TEXELS == "") TEXELS = 190 / 16 / (1024 * 0.9)
    if (LINES == "") LINES = 130 / 64 / (1024 * 0.9)
    if (NARROW == "") NARROW = 0.5
    FULL = 48
    WITHIN = 0.25
}
/^#/ || NF == 0 { next }
FILENAME ~ /adreno\.tsv$/ {
    units[$1] = $2; lanes[$1] = $3; mhz[$1] = $4; bandwidth[$1] = $5; l2[$1] = $6 * 1024
    launch_us[$1] = $7; wait_us[$1] = $8; like[$1] = $9
    next
}
FILENAME ~ /counts\.tsv$/ { counts[$1, $2 " " $3] = $0; next }
FILENAME ~ /loads\.tsv$/ { load_kernel[++patterns] = $1; load_part[patterns] = $2; share[patterns] = $3; step[patterns] = $4; next }
FILENAME ~ /points\.tsv$/ { point(); next }
FILENAME ~ /peers\.tsv$/ { peer[$1, $2] = $3; next }
/^(cl_|form)/ { for (g = 1; g <= split(gpus, names, " "); ++g) pass_launch(names[g]); ++launches; next }
/^wait/ { ++waits; next }

function most(a, b) { return a > b ? a : b }
function least(a, b) { return a < b ? a : b }
function up(x, y) { return int((x + y - 1) / y) }

# Sets the counts of a kernel. Where they are not known (guessed), those of the same kernel with
# other options count, and without any a loop with three multiply-adds in four slots.
function find_counts(gpu, kernel,    field, key, part, found)
{
    guessed = 0
    if (!((gpu, kernel) in counts)) {
        guessed = 1
        split(kernel, part, " ")
        found = ""              # the first by name, whatever the order of the awk
        for (key in counts)
            if (index(key, gpu SUBSEP part[1] " ") == 1 && (found == "" || key < found)) found = key
        if (found != "") split(counts[found], field, FS)
    } else split(counts[gpu, kernel], field, FS)
    registers = field[4]; resident = field[5]; wide = field[6]
    all_slots = field[7]; all_reads = field[8]; all_loads = field[9]; all_stores = field[10]
    slots = field[11]; mads = field[12]; reads = field[13]; loads = field[14]
    if (!resident) {
        registers = 32; resident = 256; wide = 0
        all_slots = 400; all_reads = 0; all_loads = 20; all_stores = 8
        slots = 4; mads = 3; reads = 0; loads = 0.2
    }
}

# Lines of 64 bytes that a load of a wave of 64 touches on average. run: items along x.
function lines_a_load(kernel,    i, part, uniform, apart)
{
    split(kernel, part, " ")
    for (i = 1; i <= patterns; ++i)
        if ((load_kernel[i] == part[1] || load_kernel[i] == "*") &&
            (load_part[i] == "" || index(kernel, load_part[i]))) break
    uniform = 64 / least(64, run)
    apart = most(least(64, step[i]), uniform)
    return share[i] * uniform + (1 - share[i]) * apart
}

# ms of a launch, from the counts and: macs (of an item), items, group, run, bytes. clock in MHz.
function time_of(gpu, kernel, clock,    trips, outside, n, wave, a, t, b, m, longest, unit_items, lane)
{
    trips = mads ? macs / mads : 0
    outside = mads ? 1 : 0
    unit_items = up(up(items, group), units[gpu]) * up(group, 64) * 64
    unit_items = least(unit_items, up(items, 64) * 64)
    lane = lanes[gpu] / units[gpu]
    wave = wide ? 128 : 64
    n = most(1, least(resident, unit_items) / wave)
    a = unit_items * (slots * trips + all_slots - outside * slots) / (lane * (wide ? 1 : NARROW))
    t = unit_items * (reads * trips + all_reads - outside * reads) / (TEXELS * lane)
    b = unit_items / 64 * (lines_a_load(kernel) * loads * trips + \
        4 * (all_loads - outside * loads + all_stores)) / (LINES * lane)
    m = bytes / bandwidth[gpu] * clock / 1000
    alu = a / clock / 1000; texture = t / clock / 1000; buffer = b / clock / 1000
    memory = m / clock / 1000; waves = n
    longest = most(most(alu, texture), most(buffer, memory))
    return longest + (alu + texture + buffer + memory - longest) / n
}

# ---- published figures ----
function point(    tried, k, kernel, ms, best, model, low, high, off, rows, repetitions, bound, near)
{
    low = $11; high = $12
    model = 0
    if ($3 ~ /^mad /) {
        model = 2 * lanes[$1] * $2 / 1000 * ($3 == "mad 64" ? NARROW : 1)
        bound = "alu"
    } else {
        for (k = 1; k <= split($3, tried, ";"); ++k) {
            kernel = tried[k]
            find_counts(like[$1], kernel)
            if (guessed) { print "adreno_model.awk: no counts of " kernel " for " like[$1] >"/dev/stderr"; failed = 1; exit 1 }
            if (registers >= FULL && k < split($3, tried, ";")) continue
            rows = match(kernel, /ROWS=[0-9]/) ? substr(kernel, RSTART + 5, 1) : 4
            macs = rows * $7 * $6
            items = up(up($5, $7), $8) * $8 * up(up($4, rows), $9) * $9 * $10
            group = $8 * $9; run = $8
            # Rows of A by groups along x, B by groups along y.
            bytes = 4 * $10 * ($4 * $6 * (4 * $4 * $6 > l2[$1] ? up($5, $7 * $8) : 1) + \
                $5 * $6 * (4 * $5 * $6 > l2[$1] ? up($4, rows * $9) : 1) + $4 * $5)
            if (kernel ~ /TAPS/) bytes -= 4 * $10 * $4 * $6 * 8 / 9
            ms = time_of($1, kernel, $2) + ($10 == 1 ? launch_us[$1] / 1000 : 0)
            repetitions = $10
            if (!model || 2e-6 * $4 * $5 * $6 * repetitions / ms > model) {
                model = 2e-6 * $4 * $5 * $6 * repetitions / ms
                bound = longest_name()
            }
        }
    }
    off = model / ((low + high) / 2) - 1
    near = off <= WITHIN && off >= -WITHIN
    ++points
    hits += near
    if ($15 != "fit") { ++held; held_hits += near }
    if ($3 !~ /^mad /) {
        ++kernels
        kernel_hits += near
        slowest = most(slowest, 1 + off)        # model over published: so much longer the time is
        if (!fastest || 1 + off < fastest) fastest = 1 + off
    }
    if (mode != "points") return
    if (points == 1) {
        print "| GPU | what | published, GFLOP/s | model | off | limited by | |"
        print "|---|---|---|---|---|---|---|"
    }
    printf "| %s, %d MHz | %s | %s | %.0f | %+.0f%%%s | %s | %s |\n", $1, $2, $13, \
        low == high ? low : low "-" high, model, 100 * off, near ? "" : ", miss", bound, \
        $15 == "fit" ? "fitted" : "held out"
}

function longest_name()
{
    return alu >= most(texture, most(buffer, memory)) ? "alu" : \
        texture >= most(buffer, memory) ? "texture" : buffer >= memory ? "buffer" : "memory"
}

# ---- a pass ----
function option(name,    at) { return match($2, "-D" name "=[0-9]+") ? substr($2, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : 0 }

function pass_launch(gpu,    kernel, input, ms, by, multiplies)
{
    kernel = $1 " " $2
    find_counts(like[gpu], kernel)
    items = $3 * $4 * $5; run = most(1, $6); group = most(1, $6 * $7 * $8)
    bytes = 4 * items * (all_loads + all_stores)
    macs = 0
    multiplies = $1 ~ /^cl_(direct|image|thin|gemv)$/
    if (multiplies && mads) {
        # M, N, K, kpart, products, groups, h, w, size: arguments of CL_CONV_ARGUMENTS.
        macs = option("ROWS") * most(1, option("COLS")) * least($11, $24 ? $24 : $11)
        winograd = $2 ~ /-DWINOGRAD/            # 16 points in place of 9 taps, and of 4 x 9 products
        if (winograd) macs = macs * 16 / 36
        if ($1 == "cl_gemv") macs = macs / group
        input = $31 ? $11 / ($31 * $31) * $28 * $29 : $10 * $11
        bytes = 4 * most(1, $26) * (input * (4 * input > l2[gpu] ? up($9, option("ROWS")) : 1) + \
            $9 * $10 / ($2 ~ /-DPOOL/ ? 4 : 1)) + 4 * most(1, $27) * $9 * $11 * (winograd ? 16 / 9 : 1)
        true_macs[gpu] += most(1, $26) * $9 * $10 * $11
    } else {
        if ($1 ~ /^cl_(winograd|tile|wide|conv_wide|local|block|naive)/) guessed = 1
        mads = 0
    }
    ms = time_of(gpu, kernel, mhz[gpu])
    total[gpu] += ms
    by = longest_name()
    of[gpu, by] += ms
    if (guessed) guesses[gpu] = guesses[gpu] " " $1
    if (detail)
        printf "%s\t%s\t%s\t%dx%dx%d\t%.6f\t%s\t%.6f\t%.6f\t%.6f\t%.6f\t%.1f\n", gpu, $1, $2, $9, $10, $11, ms, by, alu, texture, buffer, memory, waves
}

END {
    if (failed) exit 1
    if (mode == "points") {
        printf "\nWithin %d%%: %d of %d, held out %d of %d, multiplies and convolutions %d of %d.\n", \
            100 * WITHIN, hits, points, held_hits, held, kernel_hits, kernels
        exit !(points && held && hits >= 0.8 * points && held_hits >= 0.8 * held)
    }
    if (detail) exit
    for (g = 1; g <= split(gpus, names, " "); ++g) {
        gpu = names[g]
        calls = (launches * launch_us[gpu] + waits * wait_us[gpu]) / 1000
        all = total[gpu] + calls
        other = (gpu, name) in peer ? peer[gpu, name] : ""
        spread = points ? sprintf(" (%.1f-%.1f)", total[gpu] * fastest + calls, \
            total[gpu] * slowest + calls) : ""
        printf "| %s | %s | %.1f | %d, %d | %.1f | **%.1f**%s | %.0f | %s | %s |%s\n", name, gpu, \
            total[gpu], launches, waits, calls, all, spread, 2e-6 * true_macs[gpu] / most(total[gpu], 1e-9), other, \
            other ? sprintf("%.2f", all / other) : "", guesses[gpu] == "" ? "" : " no counts of:" guesses[gpu]
    }
}
