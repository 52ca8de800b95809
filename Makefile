# Darknet with another matrix multiply. `make help` lists the targets.

# ---- Switches ----
GEMM_IMPL ?= auto
CFG      ?= cfg/yolov3-tiny.cfg
IMAGE    ?= data/kite.jpg
IMAGES   ?= data/kite.jpg data/dog.jpg data/person.jpg
MODELS   ?= ../shared/models#   trained networks for the tests
DEPS     ?= 1#                  0: only check for Debian packages, install none
DEBUG    ?= 0
SANITIZE ?= 0#                  1: AddressSanitizer and UndefinedBehaviorSanitizer
STUDY_OPTS ?= -Ofast#           flags of the articles' variants; Darknet's own are -Ofast
# WEIGHTS=file, WEIGHTS_URLS="url ..." and DARKNET_SRC=dir: README.md

BUILD_PACKAGES = gcc libc6-dev binutils make patch tar xz-utils curl ca-certificates
TEST_PACKAGES  = $(BUILD_PACKAGES) clang

# ---- Flags; a folder under build/ for each configuration ----
CC   = gcc
BASE_OPTS = -O2 -g
DARKNET_OPTS = -Ofast
CONFIG = release
ifeq ($(DEBUG), 1)
CONFIG = debug
BASE_OPTS = -O0 -g
DARKNET_OPTS = $(BASE_OPTS)
endif
ifeq ($(SANITIZE), 1)
CONFIG = asan
BASE_OPTS = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
STUDY_OPTS = -O1
DARKNET_OPTS = $(BASE_OPTS)
endif
B = build/$(CONFIG)
CFLAGS = -std=c11 -D_GNU_SOURCE -Wall -Wextra -fPIC -MMD -Isrc
LDLIBS = -lm -pthread -ldl

MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all detect detect-all test weights patch packages clean help default-weights FORCE

PARALLEL = +@$(MAKE) -s -j$$(nproc)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

detect: packages ## everything from packages to predictions.jpg: CFG WEIGHTS IMAGE GEMM_IMPL
	$(PARALLEL) all default-weights
	@$(SAY_UNTRAINED)
	@w=$(WEIGHTS); set -x; GEMM_IMPL=$(GEMM_IMPL) ./darknet detect $(CFG) $$w $(IMAGE)

all: darknet libdarknet.so gemm-bench data ## build ./darknet, ./libdarknet.so and ./gemm-bench

detect-all: packages ## one table: every variant's detection seconds and difference to stock: IMAGES
	$(PARALLEL) all default-weights build/release/bench/detect_all
	@$(SAY_UNTRAINED)
	build/release/bench/detect_all $(CFG) $(WEIGHTS) $(IMAGES)

test: ## build and run all tests; SANITIZE=1: the unit tests under the sanitizers
	@DEPS=$(DEPS) setup/packages.sh $(TEST_PACKAGES)
	$(PARALLEL) $(UNIT_TESTS)
ifeq ($(SANITIZE), 1)
	@tests/run.sh $(UNIT_COMMANDS)
else
	$(PARALLEL) all default-weights build/upstream/darknet build/release/bench/detect_all $(UNTRAINED)
	@tests/run.sh $(UNIT_COMMANDS) '$(B)/tests/test_gemm --large --cases 0' \
	    'tests/test_bad_input.sh $(CURDIR)/$(UNTRAINED)' tests/test_setup.sh tests/test_warnings.sh \
	    'tests/test_detect.sh $(UNTRAINED) $(MODELS)'
endif

packages:
	@DEPS=$(DEPS) setup/packages.sh $(BUILD_PACKAGES)

patch: ## patch a Darknet checkout of your own in place: DARKNET_SRC
	@setup/patch.sh $(or $(DARKNET_SRC),$(error DARKNET_SRC=dir is needed))

clean: ## remove all that was built, the fetched Darknet and the untrained weights included
	find cfg -type l -delete
	rm -rf build darknet libdarknet.so gemm-bench data

# ---- The gemm variants: one object, so that Darknet's Makefile has one thing to link ----
$(B)/gemm.o: $(patsubst src/%.c,$(B)/src/%.o,$(wildcard src/*.c))
	$(LD) -r -o $@ $^

$(B)/src/gemm_opt.o: MESSAGE = @echo 'Compiling the variants of the articles (some 20 s)'
$(B)/src/gemm_opt.o: BASE_OPTS += $(STUDY_OPTS)

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(MESSAGE)
	$(CC) $(CFLAGS) $(BASE_OPTS) -c $< -o $@

FLAGS := $(CC) $(CFLAGS) $(BASE_OPTS) $(STUDY_OPTS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' >$@

-include $(wildcard $(B)/*/*.d)

# ---- Darknet: as it comes in build/upstream, patched in build/darknet ----
build/darknet_src: FORCE
	@mkdir -p build
	@echo '$(DARKNET_SRC)' | cmp -s - $@ || echo '$(DARKNET_SRC)' >$@

build/upstream.done: build/darknet_src setup/darknet.sh
	@DARKNET_SRC='$(DARKNET_SRC)' setup/darknet.sh build/upstream
	@touch $@

build/darknet.done: build/upstream.done setup/patch.sh patches/series $(wildcard patches/*.patch)
	@rm -rf build/darknet.new && cp -Rp build/upstream build/darknet.new
	@setup/patch.sh build/darknet.new || { rm -rf build/darknet.new; exit 1; }
	@rm -rf build/darknet && mv build/darknet.new build/darknet
	@touch $@

$(B)/darknet $(B)/libdarknet.so $(B)/libdarknet.a &: build/darknet.done $(B)/gemm.o
	@mkdir -p $(B)/obj
	@echo 'Building Darknet in $(B) (some 20 s)'
	+@$(MAKE) -s -C build/darknet GEMM='$(CURDIR)' GEMM_OBJ=$(B)/gemm.o OBJDIR='$(CURDIR)/$(B)/obj/' \
	    OPTS='$(DARKNET_OPTS)' SLIB='$(CURDIR)/$(B)/libdarknet.so' ALIB='$(CURDIR)/$(B)/libdarknet.a' \
	    EXEC='$(CURDIR)/$(B)/darknet' '$(CURDIR)/$(B)/darknet' '$(CURDIR)/$(B)/libdarknet.so' \
	    >$(B)/darknet.log 2>&1 || { cat $(B)/darknet.log >&2; exit 1; }
	@touch $(B)/darknet $(B)/libdarknet.so $(B)/libdarknet.a

build/upstream/darknet: build/upstream.done
	@echo 'Building unpatched Darknet, which the tests compare with (some 20 s)'
	+@$(MAKE) -s -C build/upstream obj darknet >build/upstream.log 2>&1 || { cat build/upstream.log >&2; exit 1; }

darknet libdarknet.so: %: build/release/%
	@ln -sfn $< $@

# ./darknet reads data/ under the current folder; Darknet's other networks stand beside our cfg.
data: build/darknet.done
	@ln -sfn build/darknet/data data
	@for cfg in build/darknet/cfg/*; do [ -e cfg/$${cfg##*/} ] || ln -sfn ../$$cfg cfg/; done

# ---- Programs: bench/NAME.c and tests/NAME.c link Darknet, which holds row stock ----
$(B)/bench/%.o $(B)/tests/%.o: CFLAGS += -Ibuild/darknet/include -Ibuild/darknet/src -Ibench -Itests
$(patsubst %.c,$(B)/%.o,$(wildcard bench/*.c tests/*.c)): | build/darknet.done

$(B)/bench/%: $(B)/bench/%.o $(B)/libdarknet.a
	$(CC) $(BASE_OPTS) $^ -o $@ $(LDLIBS)

$(B)/tests/%: $(B)/tests/%.o $(B)/tests/operands.o $(B)/libdarknet.a
	$(CC) $(BASE_OPTS) $^ -o $@ $(LDLIBS)

# The tests that also run under the sanitizers. (Darknet never frees a network whole: no leaks there.)
UNIT_TESTS = $(B)/tests/test_gemm $(B)/tests/test_training
UNIT_COMMANDS = $(B)/tests/test_gemm 'ASAN_OPTIONS=detect_leaks=0 $(B)/tests/test_training tests/cfg/layers.cfg \
    --forward tests/cfg/layers.cfg tests/cfg/recurrent.cfg'

gemm-bench: build/release/bench/gemm_bench
	@ln -sfn $< $@

# ---- Weights: the published ones, or an untrained file that never has their name ----
TRAINED   = yolov3-tiny.weights
UNTRAINED = build/yolov3-tiny-untrained.weights
ifeq ($(CFG), cfg/yolov3-tiny.cfg)
WEIGHTS ?= $$([ -f $(TRAINED) ] && echo $(TRAINED) || echo $(UNTRAINED))
else
WEIGHTS ?= $(error WEIGHTS=file is needed for CFG=$(CFG))
endif
SAY_UNTRAINED = case $(WEIGHTS) in *-untrained.weights) echo 'Untrained weights: the boxes mean\
 nothing; the speed, and whether variants agree, do. (make weights tries the download again.)';; esac

weights: packages ## try to download the published yolov3-tiny.weights
	@setup/weights.sh $(TRAINED) $(WEIGHTS_URLS)

default-weights:
	@[ -f $(TRAINED) ] || [ -f $(UNTRAINED) ] || setup/weights.sh $(TRAINED) $(WEIGHTS_URLS) || \
	    $(MAKE) -s $(UNTRAINED)

$(UNTRAINED): | build/release/bench/untrained_weights
	@build/release/bench/untrained_weights cfg/yolov3-tiny.cfg $@ 2>build/untrained.log || { cat build/untrained.log >&2; exit 1; }
