# SPDX-License-Identifier: MIT
# Darknet: as it comes in $(BUILD)/upstream, patched in $(BUILD)/darknet, built in $(OUT) by its own
# Makefile.

UPSTREAM = $(BUILD)/upstream
DARKNET  = $(BUILD)/darknet

# Once it is there, Darknet stays until another DARKNET_SRC is named.
$(BUILD)/darknet_src: FORCE | $(BUILD)/made-by-darknet-gemm packages
	@[ -f $@ ] && [ -z $(call quote,$(DARKNET_SRC)) ] || echo $(call quote,$(DARKNET_SRC)) | cmp -s - $@ || \
	    echo $(call quote,$(DARKNET_SRC)) >$@

$(UPSTREAM).done: $(BUILD)/darknet_src setup/darknet.sh
	@DARKNET_SRC=$(call quote,$(DARKNET_SRC)) setup/darknet.sh $(UPSTREAM)
	@touch $@

$(DARKNET).done: $(UPSTREAM).done setup/patch.sh $(wildcard $(addprefix patches/pjreddie/,series *.patch extra/series extra/*.patch))
	@rm -rf $(DARKNET).new && cp -Rp $(UPSTREAM) $(DARKNET).new
	@setup/patch.sh $(DARKNET).new || { rm -rf $(DARKNET).new; exit 1; }
	@rm -rf $(DARKNET) && mv $(DARKNET).new $(DARKNET)
	@touch $@

# Objects that include a header look at its time after the patches were applied, not before.
$(DARKNET)/%.h: $(DARKNET).done ;

# Darknet's Makefile gets every variable that the user's command line may hold for this one.
DARKNET_CFLAGS = -Wall -Wno-unused-result -Wno-unknown-pragmas -Wfatal-errors -fPIC
ABS_OUT = $(abspath $(OUT))
DARKNET_VARIABLES = GEMM='$(CURDIR)' GEMM_OBJ='$(ABS_OUT)/gemm.o' CC='$(CC)' CPP='$(CXX)' AR='$(AR)' \
    CFLAGS=$(call quote,$(DARKNET_CFLAGS) $(PREFIX_MAP) $(DARKNET_OPTS) $(CPPFLAGS) $(CFLAGS) $(KEPT_OBJECT)) \
    LDFLAGS=$(call quote,$(LDFLAGS) $(GEMM_LIBS) $(LDLIBS)) OBJDIR='$(ABS_OUT)/darknet-obj/' \
    SLIB='$(ABS_OUT)/libdarknet.so' ALIB='$(ABS_OUT)/libdarknet.a' EXEC='$(ABS_OUT)/darknet'
DARKNET_TARGETS = $(OUT)/darknet $(OUT)/libdarknet.a $(if $(filter 0,$(PROFILE)),$(OUT)/libdarknet.so)
# $(call log,FILE): the end of a command whose output is shown only when it fails
log = $(if $(Q),>$(1) 2>&1 || { cat $(1) >&2; exit 1; })

$(DARKNET_TARGETS) &: $(DARKNET).done $(wildcard src/hook/*) $(OUT)/gemm.o $(OUT)/flags
	@mkdir -p $(OUT)/darknet-obj
	@echo 'Building Darknet in $(OUT) (some 20 s)'
	$(Q)$(MAKE) $(if $(Q),-s) -C $(DARKNET) $(DARKNET_VARIABLES) $(abspath $(DARKNET_TARGETS)) $(call log,$(OUT)/darknet.log)
	@touch $(DARKNET_TARGETS)

$(UPSTREAM)/darknet: $(UPSTREAM).done
	@echo 'Building unpatched Darknet, which the tests compare with (some 20 s)'
	$(Q)$(MAKE) $(if $(Q),-s) -C $(UPSTREAM) CC='$(CC)' CPP='$(CXX)' AR='$(AR)' CFLAGS='$(DARKNET_CFLAGS) -Ofast' \
	    LDFLAGS='-lm -pthread' obj darknet $(call log,$(UPSTREAM).log)

# ---- Links in the project's folder: to the configuration that was built last ----
darknet libdarknet.so: %: $(OUT)/% FORCE
	@setup/link.sh $< $@

gemm-bench: $(OUT)/bench/gemm_bench FORCE
	@setup/link.sh $< $@

# ./darknet reads data/ under the current folder; Darknet's other networks stand beside our cfg.
.PHONY: data
data: $(DARKNET).done
	@setup/link.sh --data $(DARKNET)

NEEDS_DARKNET_SRC = $(if $(DARKNET_SRC),$(call quote,$(DARKNET_SRC)),$(error DARKNET_SRC=dir is needed))
patch: ## patch a Darknet checkout of your own in place: DARKNET_SRC; EXTRA=0 without what is not about gemm
	@setup/patch.sh $(NEEDS_DARKNET_SRC) pjreddie $(if $(filter 0,$(EXTRA)),,pjreddie/extra)
	@if [ -f $(NEEDS_DARKNET_SRC)/src-lib/darknet_layers.hpp ]; then \
	    printf 'Patched. Next: (cd %s && cmake -B build -DDARKNET_GEMM=%s/libdarknet-layers.so) && make layers DARKNET_SRC=%s && cmake --build %s/build\n' \
	        $(call quote,$(call quote,$(DARKNET_SRC))) $(call quote,$(CURDIR)) \
	        $(call quote,$(call quote,$(DARKNET_SRC))) $(call quote,$(call quote,$(DARKNET_SRC))); \
	else \
	    printf 'Patched. Next: make -C %s GEMM=%s\n' $(call quote,$(call quote,$(DARKNET_SRC))) $(call quote,$(CURDIR)); \
	fi

unpatch: ## take the patches out of DARKNET_SRC again, to the last byte
	@setup/patch.sh --undo $(NEEDS_DARKNET_SRC)
.PHONY: patch unpatch
