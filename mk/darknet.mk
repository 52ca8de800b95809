# SPDX-License-Identifier: MIT
# Darknet: as it comes in $(BUILD)/upstream, patched in $(BUILD)/darknet, built in $(OUT) by its own
# Makefile.

UPSTREAM = $(BUILD)/upstream
DARKNET  = $(BUILD)/darknet

# Once it is there, Darknet stays until another DARKNET_SRC is named.
$(BUILD)/darknet_src: $(if $(DARKNET_SRC),$(call unless,$(DARKNET_SRC),$(BUILD)/darknet_src)) | $(BUILD)/packages
	@printf '%s\n' $(call quote,$(DARKNET_SRC)) >$@

$(UPSTREAM).done: $(BUILD)/darknet_src setup/darknet.sh
	@DARKNET_SRC=$(call quote,$(DARKNET_SRC)) setup/darknet.sh $(UPSTREAM)
	@touch $@

$(DARKNET).done: $(UPSTREAM).done setup/patch.sh $(wildcard $(addprefix patches/pjreddie/,series *.patch extra/series extra/*.patch))
	@rm -rf $(DARKNET).new && cp -Rp $(UPSTREAM) $(DARKNET).new
	@setup/patch.sh $(DARKNET).new || { rm -rf $(DARKNET).new; exit 1; }
	@rm -rf $(DARKNET) && mv $(DARKNET).new $(DARKNET)
	@touch $@.new && find $(DARKNET) -name '*.h' -exec touch -r $@.new {} + && mv $@.new $@

# Objects that include a header look at its time after the patches were applied, not before. A header is
# never older than the mark above, because `make -n` would take it for one that is made again.
$(DARKNET)/%.h: $(DARKNET).done ;

# Darknet's Makefile gets every variable that the user's command line may hold for this one. gcc 14 refuses an implicit
# declaration, so older compilers do too.
DARKNET_CFLAGS = -Wall -Wno-unused-result -Wno-unknown-pragmas -Wfatal-errors -Werror=implicit-function-declaration -fPIC
DARKNET_LDFLAGS = $(LDFLAGS) $(GEMM_LIBS) $(LDLIBS)
ABS_OUT = $(abspath $(OUT))
DARKNET_VARIABLES = GEMM='$(CURDIR)' GEMM_OBJ='$(ABS_OUT)/gemm.o' CC='$(CACHE) $(CC)' CPP='$(CXX)' AR='$(AR)' \
    CFLAGS=$(call quote,$(DARKNET_CFLAGS) $(PREFIX_MAP) $(DARKNET_OPTS) $(CPPFLAGS) $(CFLAGS) $(KEPT_OBJECT)) \
    LDFLAGS=$(call quote,$(DARKNET_LDFLAGS)) OBJDIR='$(ABS_OUT)/darknet-obj/' \
    SLIB='$(ABS_OUT)/libdarknet.so' ALIB='$(ABS_OUT)/libdarknet.a' EXEC='$(ABS_OUT)/darknet'
# $(call log,FILE): the end of a command whose output is shown only when it fails; nothing for `make -n`
DRY = $(findstring n,$(firstword -$(filter-out --%,$(MAKEFLAGS))))
log = $(if $(DRY),,$(if $(Q),>$(1) 2>&1 || { cat $(1) >&2; exit 1; }))

# Its objects need nothing of ours, so they are made beside ours. image.o takes longest.
DARKNET_OBJECTS = image.o $(shell sed -n 's/^\(OBJ\|EXECOBJA\) *= *//p' $(DARKNET)/Makefile 2>/dev/null) $(notdir $(patsubst %.c,%.o,$(wildcard src/hook/*.c)))
$(OUT)/darknet-obj.done: $(DARKNET).done $(wildcard src/hook/*.[ch]) src/gemm_dispatch.h $(OUT)/flags
	$(PROGRESS)
	@mkdir -p $(OUT)/darknet-obj
	$(Q)$(MAKE) $(if $(Q),-s) -C $(DARKNET) $(DARKNET_VARIABLES) $(addprefix $(ABS_OUT)/darknet-obj/,$(DARKNET_OBJECTS)) $(call log,$(OUT)/darknet.log)
	@touch $@

# Only a link is left. This make is not called as $(MAKE), because `make -n` would call it without gemm.o.
LINK_DARKNET = MAKEFLAGS=$(call quote,$(MAKEOVERRIDES)) $(MAKE_PROGRAM)
$(OUT)/darknet $(OUT)/libdarknet.a &: $(OUT)/darknet-obj.done $(OUT)/gemm.o
	$(Q)$(LINK_DARKNET) $(if $(Q),-s) -C $(DARKNET) $(DARKNET_VARIABLES) $(ABS_OUT)/darknet $(call log,$(OUT)/darknet-link.log)
	@touch $(OUT)/darknet $(OUT)/libdarknet.a

# Programs look for it by its name alone. It leaves denormals alone, because its host may need them.
$(OUT)/libdarknet.so: $(OUT)/darknet-obj.done $(OUT)/gemm.o
	$(Q)$(LINK_DARKNET) $(if $(Q),-s) -C $(DARKNET) $(DARKNET_VARIABLES) LDFLAGS=$(call quote,-Wl$(comma)-soname$(comma)$(@F) $(DARKNET_LDFLAGS) $(KEPT_LINK)) $(abspath $@) $(call log,$(OUT)/libdarknet.log)
	@touch $@

$(UPSTREAM)/darknet: $(UPSTREAM).done
	$(PROGRESS)
	$(Q)$(MAKE) $(if $(Q),-s) -C $(UPSTREAM) CC='$(CACHE) $(CC)' CPP='$(CXX)' AR='$(AR)' CFLAGS='$(DARKNET_CFLAGS) -Ofast' \
	    LDFLAGS='-lm -pthread' obj darknet $(call log,$(UPSTREAM).log)

# ---- Links in the project's folder: to the configuration that was built last ----
$(foreach name,darknet libdarknet.so,$(eval $(call link,$(name),$(OUT)/$(name))))
$(eval $(call link,gemm-bench,$(OUT)/bench/gemm_bench))

# ./darknet reads data/ under the current folder; Darknet's other networks stand beside our cfg.
DATA_LINKS = data $(patsubst $(DARKNET)/%,%,$(wildcard $(DARKNET)/cfg/*))
data: $(if $(realpath $(DARKNET)/cfg),$(if $(filter-out $(words $(DATA_LINKS)),$(words $(realpath $(DATA_LINKS)))),FORCE),FORCE) | $(DARKNET).done
	@setup/link.sh --data $(DARKNET)

NEEDS_DARKNET_SRC = $(if $(DARKNET_SRC),$(call quote,$(DARKNET_SRC)),$(error DARKNET_SRC=dir is needed))
ifneq ($(UNDO),1)
patch: ## any Darknet: patch a checkout in place: DARKNET_SRC EXTRA=0; UNDO=1: take it out again
	@setup/patch.sh $(NEEDS_DARKNET_SRC) pjreddie $(if $(filter 0,$(EXTRA)),,pjreddie/extra)
	@if [ -f $(NEEDS_DARKNET_SRC)/src-lib/darknet_layers.hpp ]; then \
	    printf 'Patched. Next: (cd %s && cmake -B build -DDARKNET_GEMM=%s/libdarknet-layers.so) && make layers DARKNET_SRC=%s && cmake --build %s/build\n' \
	        $(call quote,$(call quote,$(DARKNET_SRC))) $(call quote,$(CURDIR)) \
	        $(call quote,$(call quote,$(DARKNET_SRC))) $(call quote,$(call quote,$(DARKNET_SRC))); \
	else \
	    printf 'Patched. Next: make -C %s GEMM=%s\n' $(call quote,$(call quote,$(DARKNET_SRC))) $(call quote,$(CURDIR)); \
	fi

else
patch:
	@setup/patch.sh --undo $(NEEDS_DARKNET_SRC)
endif
.PHONY: patch
