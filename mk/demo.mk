# SPDX-License-Identifier: MIT
# The demonstration network: cfg/kite-demo.cfg and .weights, trained again.

DEMO_PICTURES = $(patsubst %,data/%.jpg,kite dog horses giraffe eagle person scream)
DEMO_TRAINED  = $(BUILD)/demo/kite-demo.weights

$(OBJ)/demo/train.o: INCLUDES = -I$(DARKNET)/include
$(OBJ)/demo/train.o: | $(DARKNET).done
$(OUT)/demo/train: $(OBJ)/demo/train.o $(OUT)/libdarknet.a
	@mkdir -p $(@D)
	$(LINK)

# All pictures are one batch; for detection, a batch is one.
$(BUILD)/demo/train.cfg: cfg/kite-demo.cfg | $(OUT)/flags
	@mkdir -p $(@D)
	$(Q)sed 's/^batch=1$$/batch=$(words $(DEMO_PICTURES))/' $< >$@

ifeq ($(DEMO),1)
weights: all $(OUT)/demo/train $(BUILD)/demo/train.cfg
	@$(OUT)/demo/train $(BUILD)/demo/train.cfg $(DEMO_TRAINED) demo $(DEMO_PICTURES) \
	    2>$(BUILD)/demo/train.log || { s=$$?; tail -n 2 $(BUILD)/demo/train.log >&2; exit $$s; }
	@if cmp -s $(DEMO_TRAINED) cfg/kite-demo.weights; then \
	    echo 'The same, to the byte, as cfg/kite-demo.weights.'; \
	else \
	    echo 'Not the bytes of cfg/kite-demo.weights, which AVX2 micro-kernels gave: demo/README.md.'; \
	fi
	./darknet detect cfg/kite-demo.cfg $(DEMO_TRAINED) data/kite.jpg
endif

# time() that stands still, for tests/system/test_start.sh
$(OUT)/tests/fixed_time.so: $(OBJ)/tests/support/fixed_time.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(GEMM_OPTS) $(CFLAGS) $(LDFLAGS) -shared $^ -o $@ $(LDLIBS)

# For `make test`.
DEMO_PROGRAMS = $(OUT)/demo/train $(BUILD)/demo/train.cfg $(OUT)/tests/fixed_time.so
DEMO_COMMANDS = \
    '$(QUICK) tests/system/test_demo.sh' \
    'tests/system/test_start.sh $(abspath $(OUT))/tests/fixed_time.so'
