# SPDX-License-Identifier: MIT
# Weights: the published ones, or an untrained file that never has their name.

TRAINED   = yolov3-tiny.weights
UNTRAINED = $(BUILD)/yolov3-tiny-untrained.weights
# Those of another CFG lie beside it: x.weights beside x.cfg. A blank in the path counts as part of it.
BESIDE = $(if $(filter %.cfg,$(CFG)),$(wildcard $(subst $() ,\ ,$(CFG:.cfg=.weights))))
# The first line of a recipe that uses "$$weights", which also says when these are untrained.
ifeq ($(CFG), cfg/yolov3-tiny.cfg)
SET_WEIGHTS = weights=$(if $(WEIGHTS),$(call quote,$(WEIGHTS)),$$([ -f $(TRAINED) ] && echo $(TRAINED) || echo $(UNTRAINED))); \
    case $$weights in *-untrained.weights) echo "$$weights is untrained: its boxes mean nothing. Times and" \
    'comparisons of variants are right. (make weights tries the download again.)' ;; esac
NEEDS_DEFAULT = $(if $(WEIGHTS)$(wildcard $(TRAINED) $(UNTRAINED)),,yes)
else
SET_WEIGHTS = weights=$(call quote,$(or $(WEIGHTS),$(BESIDE),$(error $(if $(wildcard $(subst $() ,\ ,$(CFG))),WEIGHTS=file is needed for \
    CFG=$(CFG)$(comma) because no $(CFG:.cfg=.weights) is there,CFG=$(CFG) is no file that can be read))))
endif

ifneq ($(DEMO),1)
weights: | $(BUILD)/packages ## detect: download yolov3-tiny.weights; DEMO=1: train the demonstration network again
	@setup/weights.sh $(TRAINED) $(WEIGHTS_URLS)
endif

# Made only where there are no others.
default-weights: $(if $(NEEDS_DEFAULT),$(OUT)/bench/untrained_weights)
	$(if $(NEEDS_DEFAULT),@setup/weights.sh $(TRAINED) $(WEIGHTS_URLS) || { $(MAKE_UNTRAINED); })

$(UNTRAINED): | $(OUT)/bench/untrained_weights
	@$(MAKE_UNTRAINED)

MAKE_UNTRAINED = $(OUT)/bench/untrained_weights cfg/yolov3-tiny.cfg $(UNTRAINED) 2>$(BUILD)/untrained.log || \
    { cat $(BUILD)/untrained.log >&2; exit 1; }

.PHONY: weights default-weights
