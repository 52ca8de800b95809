# Weights: the published ones, or an untrained file that never has their name.

TRAINED   = yolov3-tiny.weights
UNTRAINED = $(BUILD)/yolov3-tiny-untrained.weights
ifeq ($(CFG), cfg/yolov3-tiny.cfg)
# The first line of a recipe that uses "$$weights", which also says when they are untrained.
SET_WEIGHTS = weights=$(if $(WEIGHTS),$(call quote,$(WEIGHTS)),$$([ -f $(TRAINED) ] && echo $(TRAINED) || echo $(UNTRAINED))); \
    case $$weights in *-untrained.weights) echo 'Untrained weights: the boxes mean nothing; the speed,' \
    'and whether variants agree, do. (make weights tries the download again.)' ;; esac
else
SET_WEIGHTS = weights=$(if $(WEIGHTS),$(call quote,$(WEIGHTS)),$(error WEIGHTS=file is needed for CFG=$(CFG)))
endif

weights: packages ## try to download the published yolov3-tiny.weights
	@setup/weights.sh $(TRAINED) $(WEIGHTS_URLS)

# Made only where there are no others.
default-weights: $(if $(WEIGHTS),,$(OUT)/bench/untrained_weights)
	$(if $(WEIGHTS),,@[ -f $(TRAINED) ] || [ -f $(UNTRAINED) ] || setup/weights.sh $(TRAINED) $(WEIGHTS_URLS) || { $(MAKE_UNTRAINED); })

$(UNTRAINED): | $(OUT)/bench/untrained_weights
	@$(MAKE_UNTRAINED)

MAKE_UNTRAINED = $(OUT)/bench/untrained_weights cfg/yolov3-tiny.cfg $(UNTRAINED) 2>$(BUILD)/untrained.log || \
    { cat $(BUILD)/untrained.log >&2; exit 1; }

.PHONY: weights default-weights
