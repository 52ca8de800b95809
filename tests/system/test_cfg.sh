#!/bin/sh
# SPDX-License-Identifier: MIT
# Cfgs that Darknet's users have: lines that Darknet does not know, foreign ends of lines, sizes that make no
# network, and weights that are no numbers.
#
#   tests/system/test_cfg.sh ROW...     rows for which the weights are tried, beside some that always run
. tests/support/lib.sh

cases=$root/tests/unit/cfg
darknet_folder "$work/here"
cd "$work/here" || exit 1

# floats COUNT BYTES: a weights file of COUNT floats, whose four bytes printf(1) gets
floats()
{
    printf '\0\0\0\0\002\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
    left=$1
    while [ "$left" -gt 0 ]; do
        printf "$2"
        left=$((left - 1))
    done
}

# ---- lines ----
grep -v '^#\|^$' cfg/kite-demo.cfg >plain.cfg
# A kite detector, and the boxes that it finds.
boxes() { ./darknet detector test "$1" "$2" cfg/kite-demo.weights data/kite.jpg 2>"$work/log" | grep '%$'; }
grep -v '^names' cfg/coco.data >unix.data
echo "names=data/coco.names" >>unix.data
boxes unix.data plain.cfg >"$work/expected"
check cfg-lines-finds-boxes test -s "$work/expected"

# same_boxes NAME DATA CFG
same_boxes()
{
    boxes "$2" "$3" | cmp -s - "$work/expected" && pass "$1" || fail "$1" "$(tail -n 2 "$work/log")"
}
carriage_returns() { sed "s/\$/$(printf '\r')/" "$1"; }
byte_order_mark() { printf '\357\273\277' && cat; }

carriage_returns plain.cfg >crlf.cfg
byte_order_mark <plain.cfg >bom.cfg
byte_order_mark <crlf.cfg >both.cfg
for file in crlf bom both; do same_boxes "cfg-lines-$file" unix.data $file.cfg; done
carriage_returns data/coco.names | byte_order_mark >crlf.names
{ grep -v '^names' unix.data && echo names=crlf.names; } >names.data
carriage_returns names.data | byte_order_mark >crlf.data
same_boxes cfg-lines-data-and-names crlf.data plain.cfg

awk '{ print } /^\[net\]/ { print "// a camera\nhue .1\nangle=" }' plain.cfg >junk.cfg
same_boxes cfg-lines-junk unix.data junk.cfg
for line in '2 is ignored, because it is no option=value: //acamera' '3 is ignored, because it is no option=value: hue.1' \
    '4 is ignored, because it is no option=value: angle'; do
    check "cfg-lines-junk-${line%% *}" grep -qF "Config file junk.cfg, line $line" "$work/log"
done

# Options of other Darknets that change nothing, for training, and of nobody.
awk '{ print }
     /^\[net\]/ { print "darknet=pjreddie\nmosaic=1\nfoo=1" }
     /^\[conv/ { print "dilation=1\nstride_x=" (n++ < 3 ? 2 : 1) }
     /^\[route\]/ { print "groups=1\ngroup_id=0" }
     /^\[yolo\]/ { print "scale_x_y=1.0\nnew_coords=0\niou_loss=ciou\nbar=2" }' plain.cfg >other.cfg
same_boxes cfg-lines-other unix.data other.cfg
for line in 'Config file other.cfg: these options of another Darknet are not used: mosaic, iou_loss' \
    "Unused field: 'foo = 1'" "Unused field: 'bar = 2'"; do
    check "cfg-lines-other-$line" grep -qxF "$line" "$work/log"
done
check cfg-lines-other-alone test "$(grep -c 'not used\|Unused\|rules' "$work/log")" = 3

detect() { ./darknet detect "$1" cfg/kite-demo.weights data/kite.jpg; }
iconv -t utf-16le plain.cfg | { printf '\377\376' && cat; } >utf16.cfg
expect_failure cfg-lines-utf16 'utf16.cfg, line 1 comes before the first section: \xff\xfe[' detect utf16.cfg

# ---- sizes ----
# refuses NAME SECTION WHY OPTION...: behind a net of 3x8x8 the section ends the program with one line
refuses()
{
    name=$1 section=$2 why=$3
    shift 3
    {
        printf '[net]\nwidth=8\nheight=8\nchannels=3\n[conv]\nfilters=%s\n%s\n' "${filters:-4}" "$section"
        for option in "$@"; do echo "$option"; done
    } >"$name.cfg"
    expect_failure "cfg-size-$name" "$name.cfg, line 7, $section: $why" detect "$name.cfg"
}
least='but a whole number of at least'
refuses size-0 '[convolutional]' "size=0, $least 1 is needed" size=0
refuses size-negative '[convolutional]' "size=-3, $least 1 is needed" size=-3
refuses size-word '[convolutional]' "size=three, $least 1 is needed" size=three
refuses size-beyond-int '[convolutional]' "size=4294967297, $least 1 is needed" size=4294967297
refuses size-large '[convolutional]' 'size=9, but 8x8 with a padding of 0 comes in: at most 8 is allowed' size=9
refuses size-large-stride '[convolutional]' 'size=9, but 8x8 with a padding of 0' size=9 stride=2
refuses stride-0 '[convolutional]' "stride=0, $least 1 is needed" stride=0
refuses padding-negative '[convolutional]' "padding=-1, $least 0 is needed" padding=-1
refuses padding-huge '[convolutional]' 'it would have 4611686' padding=1073741824
refuses filters-0 '[convolutional]' "filters=0, $least 1 is needed" filters=0
refuses filters-huge '[convolutional]' 'it would have 137438953408 outputs, but at most 2147483647' filters=2147483647
refuses weights-huge '[convolutional]' 'it would have 7200000000 weights' filters=200000000 size=3 pad=1 stride=8
refuses groups-0 '[convolutional]' "groups=0, $least 1 is needed" groups=0 filters=4
refuses groups-3 '[convolutional]' 'groups=3, but a divisor of 4 channels and of 6 filters' groups=3 filters=6
refuses pool-stride-0 '[maxpool]' "stride=0, $least 1 is needed" size=2 stride=0
refuses pool-size-large '[maxpool]' 'size=9, but 8x8 with a padding of 0' size=9 padding=0
refuses reorg-stride-0 '[reorg]' 'stride=0, but a whole number from 1' stride=0
refuses reorg-stride-3 '[reorg]' 'stride=3, but 4 channels come in' stride=3
refuses reorg-channels '[reorg]' 'stride=4, but 4 channels come in, and 16 is no divisor' stride=4
refuses upsample-stride-0 '[upsample]' 'stride=0, but at least 1 is needed' stride=0
refuses upsample-nothing '[upsample]' '8x8x4 come in, and nothing would come out' stride=-9
refuses upsample-huge '[upsample]' 'it would have 2560000000000 outputs' stride=100000
refuses deconv-nothing '[deconvolutional]' '8x8x4 come in, and nothing would come out' padding=4
refuses local-size '[local]' 'size=9, but 8x8 with a padding of 0' size=9
refuses local-stride-0 '[local]' "stride=0, $least 1 is needed" stride=0
refuses local-pad '[local]' 'pad=2, but with size=3 at most 1 is allowed' size=3 pad=2
refuses crop '[crop]' 'crop_height=9, but a whole number from 1 to 8 is needed' crop_height=9
refuses output-0 '[connected]' "output=0, $least 1 is needed" output=0
refuses rnn-output '[rnn]' "output=-1, $least 1 is needed" output=-1
refuses lstm-huge '[lstm]' 'it would have 10000000000 weights' output=100000
refuses crnn '[crnn]' "hidden_filters=0, $least 1 is needed" hidden_filters=0
refuses softmax '[softmax]' 'groups=3, but a divisor of 256 inputs is needed' groups=3
refuses route '[route]' 'layers=-2, but only 1 layers are before it' layers=-2
refuses route-missing '[route]' 'layers=... is missing'
refuses shortcut '[shortcut]' 'from=5, but only 1 layers are before it' from=5
refuses yolo '[yolo]' '256 numbers come in, but mask and classes need 576, which is 9 filters' classes=4
filters=6
refuses yolo-mask '[yolo]' 'anchor 1 in mask, but 0 to 0 are possible with num=1' classes=1 mask=1
refuses region-anchors '[region]' 'num=1, but there are 4 numbers in anchors' classes=1 coords=4 num=1 anchors=1,2,3,4
filters=4
unknown='changes the result, but this Darknet does not know it'
refuses activation '[convolutional]' 'activation=gelu is no activation of this Darknet' activation=gelu
refuses dilation '[convolutional]' "dilation=2 $unknown" size=3 pad=1 dilation=2
refuses stride-x '[convolutional]' "stride_x=2 $unknown" stride=1 stride_x=2
refuses pool-depth '[maxpool]' "maxpool_depth=1 $unknown" maxpool_depth=1 out_channels=2
refuses route-groups '[route]' 'groups=3, but a divisor of 4 channels is needed' layers=-1 groups=3
refuses route-group '[route]' 'group_id=2, but a whole number from 0 to 1 is needed' layers=-1 groups=2 group_id=2
refuses shortcut-many '[shortcut]' 'from=-1,-1 names several layers, but this Darknet adds one' from=-1,-1
refuses shortcut-weights '[shortcut]' "weights_type=per_feature $unknown" from=-1 weights_type=per_feature
refuses yolo-nms '[yolo]' 'nms_kind=soft, but one of default, greedynms, diounms, cornersnms is needed' classes=0 num=1 nms_kind=soft
refuses gaussian '[Gaussian_yolo]' '256 numbers come in, but mask and classes need 640, which is 10 filters' classes=1
refuses gaussian-point '[Gaussian_yolo]' "yolo_point=left_top $unknown" yolo_point=left_top
refuses share '[convolutional]' 'share_index=-1, but a convolution with the same' share_index=-1 filters=5
refuses scale '[scale_channels]' '8x8x4 come in, but with from=-1 1x1x4 are needed' from=-1
refuses scale-wh '[scale_channels]' "scale_wh=1 $unknown" from=-1 scale_wh=1
refuses reorg3d '[reorg3d]' 'stride=3, but a divisor of 8x8 is needed' stride=3
refuses reorg3d-reverse '[reorg3d]' "reverse=1 $unknown" stride=2 reverse=1
refuses local-avgpool '[local_avgpool]' 'size=9, but 8x8 with a padding of 0' size=9 padding=0
refuses crnn-keys '[crnn]' "output=9 $unknown" output=9 hidden=9
refuses layer '[contrastive]' 'this Darknet has no such layer'
refuses region '[region]' '256 numbers come in, but num, classes and coords need' classes=4
refuses detection '[detection]' "side=0, $least 1 is needed" side=0

# refuses_net NAME WHY OPTION...
refuses_net()
{
    name=$1 why=$2
    shift 2
    {
        echo '[net]'
        for option in "$@" width=8 height=8 channels=3 '[conv]'; do echo "$option"; done
    } >"$name.cfg"
    expect_failure "cfg-size-$name" "$name.cfg, line 1, [net]: $why" detect "$name.cfg"
}
refuses_net batch-0 "batch=0, $least 1 is needed" batch=0
refuses_net subdivisions-0 'subdivisions=0, but a whole number from 1 to 4' batch=4 subdivisions=0
refuses_net subdivisions-many 'subdivisions=8, but a whole number from 1 to 4' batch=4 subdivisions=8
refuses_net width-negative "width=-8, $least 0 is needed" width=-8
refuses_net channels-huge 'it would have 19200000000 inputs' channels=300000000
refuses_net darknet 'darknet=mine, but pjreddie or alexeyab is needed' darknet=mine
refuses_net steps-0 "time_steps=0, $least 1 is needed" time_steps=0

# ---- GEMM_CHECK on weights that are no numbers ----
# checked NAME CFG WEIGHTS
checked()
{
    GEMM_CHECK=1 ./darknet detect "$2" "$3" data/kite.jpg >"$work/output" 2>&1 &&
        grep -q 'GEMM_CHECK: [1-9][0-9]* calls right' "$work/output" && pass "$1" || fail "$1" "$(tail -n 2 "$work/output")"
}
floats 214 '\000\000\300\177' >nan.weights
floats 214 '\000\000\200\177' >inf.weights
floats 214 '\000\000\200\377' >minus-inf.weights
floats 57 '\000\000\000\077' >half.weights
for row in packed auto stock mnk "$@"; do
    for conv in hook direct im2col; do
        for weights in nan inf minus-inf; do
            GEMM_IMPL=$row GEMM_CONV=$conv checked "check-$weights-$row-$conv" "$cases/check-nan.cfg" $weights.weights
        done
    done
    GEMM_IMPL=$row checked "check-overflow-$row" "$cases/check-overflow.cfg" half.weights
done

# Every kind of layer that AlexeyAB's Darknet has besides.
"$OUT/bench/untrained_weights" "$cases/others.cfg" others.weights 2>"$work/log"
for row in packed "$@"; do GEMM_IMPL=$row checked "check-others-$row" "$cases/others.cfg" others.weights; done

# A filter of NaN, behind 20 bytes of header and 4 x 8 floats: a later pool over NaN alone gives the lowest float,
# as in Darknet, so the sums behind it overflow in transforms and in 16 bits.
cp cfg/kite-demo.weights nan-filter.weights
floats 1 '\000\000\300\177' | tail -c 4 | dd of=nan-filter.weights bs=1 seek=148 conv=notrunc 2>"$work/dd"
for row in packed packed_bf16 $("$root/gemm-bench" --list 2>"$work/list" | sed -n 's/^\(packed_fp16\)\tusable.*/\1/p') "$@"; do
    GEMM_IMPL=$row GEMM_PREPARE=first checked "check-nan-filter-$row" cfg/kite-demo.cfg nan-filter.weights
done

finish
