# Darknet with another matrix multiply. `make help` lists the targets.

# ---- Switches ----
GEMM_IMPL ?= auto
CFG      ?= cfg/yolov3-tiny.cfg
IMAGE    ?= data/kite.jpg
THREADS  ?= 1,2
ROUNDS   ?= 9
IMAGES   ?= data/kite.jpg data/dog.jpg data/person.jpg
MODELS   ?= ../shared/models#   trained networks for the tests
DEPS     ?= 1#                  0: only check for Debian packages, install none
DEBUG    ?= 0
OPENCL   ?= 1#                  0: no OpenCL; its rows then say why they cannot run
SANITIZE ?= 0#                  1: AddressSanitizer and UndefinedBehaviorSanitizer; thread: ThreadSanitizer
STUDY_OPTS ?= -Ofast#           flags of the articles' variants; Darknet's own are -Ofast
# WEIGHTS=file, WEIGHTS_URLS="url ..." and DARKNET_SRC=dir: README.md

BUILD_PACKAGES = gcc libc6-dev binutils make patch tar xz-utils curl ca-certificates
BENCH_PACKAGES = gnuplot-nox
# other people's gemm, for comparison and its tests only
REF_PACKAGES   = libopenblas0-pthread libblis4-openmp libdnnl2
TEST_PACKAGES  = $(BUILD_PACKAGES) $(BENCH_PACKAGES) $(REF_PACKAGES) clang valgrind time
ifeq ($(OPENCL), 1)
BUILD_PACKAGES += ocl-icd-opencl-dev pocl-opencl-icd
REF_PACKAGES   += libclblast1
TEST_PACKAGES  += oclgrind
endif

# ---- Flags; a folder under build/ for each configuration ----
CC   = gcc
BASE_OPTS = -O2 -g
KERNEL_OPTS = -O3#              added for the micro-kernels of packed
DARKNET_OPTS = -Ofast
CONFIG = release
ifeq ($(DEBUG), 1)
CONFIG = debug
BASE_OPTS = -O0 -g
KERNEL_OPTS =
DARKNET_OPTS = $(BASE_OPTS)
endif
ifdef PROFILE
CONFIG = gprof$(STUDY_OPTS)
BASE_OPTS = -O2 -g -pg
DARKNET_OPTS = -Ofast -g -pg -no-pie
endif
ifeq ($(SANITIZE), thread)
CONFIG = tsan
BASE_OPTS = -O1 -g -fsanitize=thread
KERNEL_OPTS =
STUDY_OPTS = -O1
DARKNET_OPTS = $(BASE_OPTS)
endif
ifeq ($(SANITIZE), 1)
CONFIG = asan
BASE_OPTS = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
KERNEL_OPTS =
STUDY_OPTS = -O1
DARKNET_OPTS = $(BASE_OPTS)
endif
ifneq ($(OPENCL), 1)
CONFIG := $(CONFIG)-nocl
endif
BUILD = build/$(CONFIG)
OBJ = $(BUILD)/obj
CFLAGS = -std=c11 -D_GNU_SOURCE -Wall -Wextra -fPIC -MMD -Isrc
LDLIBS = -lm -pthread -ldl @$(BUILD)/gemm.libs

MAKEFLAGS += --no-print-directory
# DEPS goes on as an environment variable: on the command line it would replace a list of Darknet's Makefile.
export DEPS
MAKEOVERRIDES := $(filter-out DEPS=%,$(MAKEOVERRIDES))
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all bench bench-cl bench-detect detect detect-all test gprof loops weights patch packages clean help default-weights FORCE

PARALLEL = +@$(MAKE) -s -j$$(nproc)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

detect: packages ## everything from packages to predictions.jpg: CFG WEIGHTS IMAGE GEMM_IMPL
	$(PARALLEL) all
	$(PARALLEL) default-weights
	@$(SAY_UNTRAINED)
	@w=$(WEIGHTS); set -x; GEMM_IMPL=$(GEMM_IMPL) ./darknet detect $(CFG) $$w $(IMAGE)

all: darknet libdarknet.so gemm-bench data ## build ./darknet, ./libdarknet.so and ./gemm-bench

detect-all: packages ## one table: every variant's detection seconds and difference to stock: IMAGES
	$(PARALLEL) all build/release/bench/detect_all
	$(PARALLEL) default-weights
	@$(SAY_UNTRAINED)
	@mkdir -p build/detect-all
	@GEMM_CONV=$${GEMM_CONV:-im2col} build/release/bench/detect_all --out build/detect-all/table.txt $(CFG) $(WEIGHTS) $(IMAGES)

test: ## build and run all tests; SANITIZE=1: the unit tests under the sanitizers
	@DEPS=$(DEPS) setup/packages.sh $(TEST_PACKAGES)
	$(PARALLEL) data $(UNIT_TESTS)
ifneq ($(filter 1 thread, $(SANITIZE)),)
	@LSAN_OPTIONS=suppressions=tests/support/asan.supp tests/support/run.sh $(UNIT_COMMANDS)
else
	$(PARALLEL) all build/upstream/darknet build/release/bench/detect_all $(BENCH_TESTS) $(CL_TESTS)
	$(PARALLEL) default-weights
	$(PARALLEL) $(UNTRAINED)
	@tests/support/run.sh $(CL_COMMANDS) 'tests/system/test_detect.sh $(UNTRAINED) $(MODELS)' 'tests/system/test_setup.sh && tests/system/test_bench.sh $(MODELS)' \
	    '$(BUILD)/tests/test_gemm --large --cases 0' $(CONV_COMMANDS) tests/system/test_warnings.sh $(BENCH_COMMANDS) \
	    $(UNIT_COMMANDS) '$(VALGRIND)' 'tests/system/test_bad_input.sh $(CURDIR)/$(UNTRAINED)' tests/system/test_report.sh
endif

gprof: packages ## hotspots of a detection under each variant: VARIANTS N PROCESSES STUDY_OPTS
	@DEPS=$(DEPS) setup/packages.sh $(BENCH_PACKAGES)
	$(PARALLEL) all
	$(PARALLEL) default-weights
	$(PARALLEL) PROFILE=1 build/gprof$(STUDY_OPTS)/darknet
	@$(SAY_UNTRAINED)
	@w=$(WEIGHTS); GEMM_CONV=$${GEMM_CONV:-im2col} N=$(N) PROCESSES=$(PROCESSES) bench/studies/gprof.sh $(CURDIR)/build/gprof$(STUDY_OPTS)/darknet \
	    build/gprof$(STUDY_OPTS)/results $(CFG) $$w $(IMAGE) $(or $(VARIANTS),$$($(LIST_CPU_VARIANTS)))

loops: packages ## the study of loop orders, unrollings and tiles on 512x512x1024: LOOPS_OPTIONS
	@DEPS=$(DEPS) setup/packages.sh $(BENCH_PACKAGES)
	$(PARALLEL) all
	bench/studies/loops.sh ./gemm-bench build/loops $(LOOPS_OPTIONS)

bench: packages ## the speed table of packed, wanted and measured, and its curve over size: build/bench
	@DEPS=$(DEPS) setup/packages.sh $(BENCH_PACKAGES) $(REF_PACKAGES)
	$(PARALLEL) all build/release/bench/ab
	$(PARALLEL) default-weights
	@$(SAY_UNTRAINED)
	@w=$(WEIGHTS); bench/studies/bench.sh ./gemm-bench build/release/bench/ab $$w build/bench

LIST_CPU_VARIANTS = ./gemm-bench --list | \
    awk -F '\t' '$$2 == "usable" && $$1 !~ /^(cl|openblas|blis|onednn|hybrid)/ { print $$1 }'

bench-detect: packages ## forward passes: convolution hook, im2col and OpenCV DNN: NETWORKS THREADS ROUNDS OPTIONS
	$(PARALLEL) all build/release/bench/bench_detect
	$(PARALLEL) default-weights
	@$(SAY_UNTRAINED)
	@w=$(WEIGHTS); build/release/bench/bench_detect --threads $(THREADS) --rounds $(ROUNDS) $(OPTIONS) $(IMAGE) $(or $(NETWORKS), \
	    $(CFG)=$$w $(foreach m,$(basename $(wildcard $(MODELS:%=%/*.weights))),$(m).cfg=$(m).weights) \
	    $(patsubst %,cfg/%.cfg,alexnet extraction resnet18 darknet19 yolov2-tiny yolov3))

packages:
	@DEPS=$(DEPS) setup/packages.sh $(BUILD_PACKAGES)

patch: ## patch a Darknet checkout of your own in place: DARKNET_SRC
	@setup/patch.sh $(or $(DARKNET_SRC),$(error DARKNET_SRC=dir is needed))

clean: ## remove all that was built, the fetched Darknet and the untrained weights included
	find cfg -type l -delete
	rm -rf build darknet libdarknet.so gemm-bench data

# ---- The gemm variants: one object, so that Darknet's Makefile has one thing to link ----
# Beside it gemm.libs, the libraries that it needs, for the linker's command line.
CL_SOURCES = src/gemm_cl.c src/ref/clblast.c $(wildcard src/cl/*.c)
ifeq ($(OPENCL), 1)
SOURCES = $(filter-out src/cl/none.c,$(wildcard src/*.c src/*/*.c))
EMBEDDED = $(BUILD)/kernels.o
LIBS = -lOpenCL
else
SOURCES = $(filter-out $(CL_SOURCES),$(wildcard src/*.c src/*/*.c)) src/cl/none.c src/cl/rows.c
EMBEDDED =
LIBS =
endif

$(BUILD)/gemm.o: $(SOURCES:%.c=$(OBJ)/%.o) $(EMBEDDED) $(BUILD)/flags
	$(LD) -r -o $@ $(filter %.o,$^)
	@echo '$(LIBS)' >$(BUILD)/gemm.libs

$(BUILD)/kernels.c: kernels/embed.sh $(wildcard kernels/*.cl kernels/*.h)
	@mkdir -p $(@D)
	kernels/embed.sh $(wildcard kernels/*.cl) >$@

$(BUILD)/kernels.o: $(BUILD)/kernels.c $(BUILD)/flags
	$(CC) $(CFLAGS) -Wno-overlength-strings $(BASE_OPTS) -c $< -o $@

$(OBJ)/src/gemm_opt.o: MESSAGE = @echo 'Compiling the variants of the articles (some 20 s)'
$(OBJ)/src/gemm_opt.o: BASE_OPTS += $(STUDY_OPTS)

# The instruction set of each micro-kernel is its own file's business: the choice is made at run time.
$(OBJ)/src/packed/ukernel_%.o: BASE_OPTS += $(KERNEL_OPTS)
ifneq ($(filter x86_64-%, $(shell $(CC) -dumpmachine)),)
$(OBJ)/src/packed/ukernel_avx512.o: CFLAGS += -mavx512f -mfma
$(OBJ)/src/packed/ukernel_avx2.o: CFLAGS += -mavx2 -mfma
endif

$(OBJ)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(MESSAGE)
	$(CC) $(CFLAGS) $(BASE_OPTS) -c $< -o $@

FLAGS := $(CC) $(CFLAGS) $(BASE_OPTS) $(KERNEL_OPTS) $(STUDY_OPTS) OPENCL=$(OPENCL)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' >$@

-include $(wildcard $(OBJ)/*/*.d $(OBJ)/*/*/*.d)

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

DARKNET_TARGETS = $(BUILD)/darknet $(if $(PROFILE),,$(BUILD)/libdarknet.so) $(BUILD)/libdarknet.a
$(DARKNET_TARGETS) &: build/darknet.done $(BUILD)/gemm.o
	@mkdir -p $(BUILD)/darknet-obj
	@echo 'Building Darknet in $(BUILD) (some 20 s)'
	+@$(MAKE) -s -C build/darknet GEMM='$(CURDIR)' GEMM_OBJ=$(BUILD)/gemm.o OBJDIR='$(CURDIR)/$(BUILD)/darknet-obj/' \
	    OPTS='$(DARKNET_OPTS)' SLIB='$(CURDIR)/$(BUILD)/libdarknet.so' ALIB='$(CURDIR)/$(BUILD)/libdarknet.a' \
	    EXEC='$(CURDIR)/$(BUILD)/darknet' $(DARKNET_TARGETS:%='$(CURDIR)/%') \
	    >$(BUILD)/darknet.log 2>&1 || { cat $(BUILD)/darknet.log >&2; exit 1; }
	@touch $(DARKNET_TARGETS)

build/upstream/darknet: build/upstream.done
	@echo 'Building unpatched Darknet, which the tests compare with (some 20 s)'
	+@$(MAKE) -s -C build/upstream obj darknet >build/upstream.log 2>&1 || { cat build/upstream.log >&2; exit 1; }

darknet libdarknet.so: %: build/release/%
	@ln -sfn $< $@

# ./darknet reads data/ under the current folder; Darknet's other networks stand beside our cfg.
data: build/darknet.done
	@ln -sfn build/darknet/data data
	@for cfg in build/darknet/cfg/*; do [ -e cfg/$${cfg##*/} ] || ln -sfn ../$$cfg cfg/; done

# ---- Programs: bench/NAME.c and tests/NAME.c with a main; all other files of bench/ are their modules ----
PROGRAMS = bench/gemm-bench/gemm_bench.c bench/ab/ab.c bench/detect/bench_detect.c bench/detect/detect_all.c \
    bench/detect/untrained_weights.c bench/cl/bench_cl.c
MODULES  = $(filter-out $(PROGRAMS),$(wildcard bench/*/*.c)) tests/support/operands.c

$(OBJ)/bench/%.o $(OBJ)/tests/%.o: CFLAGS += -Ibuild/darknet/include -Ibuild/darknet/src -Ibench -Itests
$(patsubst %.c,$(OBJ)/%.o,$(wildcard bench/*/*.c tests/*/*.c)): | build/darknet.done

$(BUILD)/modules.a: $(MODULES:%.c=$(OBJ)/%.o)
	@rm -f $@
	$(AR) rcs $@ $^

# libdarknet.a holds row stock and, with it, the whole table.
$(BUILD)/bench/% $(BUILD)/tests/%: LINK = $(CC) $(BASE_OPTS) $(filter %.o,$^) $(filter %.a,$^) -o $@ $(LDLIBS)
define PROGRAM
$(BUILD)/bench/$(basename $(notdir $(1))): $(1:%.c=$(OBJ)/%.o) $(BUILD)/modules.a $(BUILD)/libdarknet.a
	@mkdir -p $$(@D)
	$$(LINK)
endef
$(foreach p,$(PROGRAMS),$(eval $(call PROGRAM,$(p))))

$(BUILD)/tests/%: $(OBJ)/tests/unit/%.o $(BUILD)/modules.a $(BUILD)/libdarknet.a
	@mkdir -p $(@D)
	$(LINK)

$(BUILD)/tests/%: $(OBJ)/tests/support/%.o $(BUILD)/modules.a $(BUILD)/libdarknet.a
	@mkdir -p $(@D)
	$(LINK)

# OpenCL layers: the ICD loader puts them between the program and the driver (OPENCL_LAYERS).
$(BUILD)/tests/layer_%.so: tests/support/layer_%.c tests/support/layer.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -O1 -g -shared $< -o $@

bench-cl: packages ## the OpenCL rows on the device of GEMM_CL_DEVICE, as tables: CL_BENCH=--quick, --forward or --tune
	@DEPS=$(DEPS) setup/packages.sh $(REF_PACKAGES)
	$(PARALLEL) build/release/bench/bench_cl data
	build/release/bench/bench_cl $(CL_BENCH)

# The reference in double precision is to be quick, not clever.
$(OBJ)/bench/common/reference.o: BASE_OPTS += -O3
$(OBJ)/bench/common/machine.o: CFLAGS += -DBENCH_FLAGS='"$(BASE_OPTS), variants $(BASE_OPTS) $(STUDY_OPTS), micro-kernels $(BASE_OPTS) $(KERNEL_OPTS)"' -include $(BUILD)/commit.h
$(OBJ)/bench/common/machine.o: $(BUILD)/commit.h

$(BUILD)/commit.h: FORCE
	@mkdir -p $(@D)
	@echo "#define BENCH_COMMIT \"$$(git describe --always --dirty 2>/dev/null || echo unknown)\"" >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# The benchmark with a row that can be made wrong, and the cfg parser inside Darknet's library.
WRONG_LINK = $(CC) $(BASE_OPTS) -Wl,--wrap=gemm_stock_loops $^ -o $@ $(LDLIBS)
$(BUILD)/tests/gemm_bench_wrong: $(OBJ)/bench/gemm-bench/gemm_bench.o $(OBJ)/tests/support/wrong.o $(BUILD)/modules.a $(BUILD)/libdarknet.a
	$(WRONG_LINK)

$(BUILD)/tests/wrong_check: $(OBJ)/tests/support/wrong_check.o $(OBJ)/tests/support/wrong.o $(BUILD)/libdarknet.a
	$(WRONG_LINK)

$(BUILD)/tests/test_cfg: $(OBJ)/tests/unit/test_cfg.o $(OBJ)/bench/common/cfg.o $(OBJ)/bench/common/shapes.o $(BUILD)/libdarknet.so
	$(CC) $(BASE_OPTS) $^ -o $@ -Wl,-rpath,'$(CURDIR)/$(BUILD)' $(LDLIBS)

$(BUILD)/tests/darknet_wrong: $(OBJ)/tests/support/wrong.o $(BUILD)/libdarknet.a
	$(CC) $(BASE_OPTS) -Wl,--wrap=gemm_stock_loops $(EXAMPLES) $^ -o $@ $(LDLIBS)

# The objects of Darknet's program itself.
EXAMPLES = $(wildcard $(patsubst build/darknet/examples/%.c,$(BUILD)/darknet-obj/%.o,$(wildcard build/darknet/examples/*.c)))

BENCH_TESTS = $(BUILD)/tests/darknet_wrong $(BUILD)/tests/test_cfg $(BUILD)/tests/gemm_bench_wrong $(BUILD)/tests/wrong_check $(BUILD)/tests/json_flat \
    $(BUILD)/bench/gemm_bench
BENCH_COMMANDS = 'GEMM_CONV=im2col $(BUILD)/tests/test_cfg' 'tests/system/test_gemm_bench.sh $(BUILD)'

# OpenCV's DNN module, for comparison: only where libopencv-dev is installed.
ifneq ($(shell pkg-config --exists opencv4 2>/dev/null && which g++),)
OPENCV_LIBS = -lopencv_dnn -lopencv_core -lstdc++
$(BUILD)/bench/bench_detect: $(OBJ)/bench/detect/opencv_dnn.o
$(BUILD)/bench/bench_detect: LDLIBS += $(OPENCV_LIBS)
$(OBJ)/bench/detect/opencv_dnn.o: bench/detect/opencv_dnn.cpp
	@mkdir -p $(@D)
	g++ $(BASE_OPTS) -Wall -Wextra $$(pkg-config --cflags opencv4) -c $< -o $@
endif

gemm-bench: build/release/bench/gemm_bench
	@ln -sfn $< $@

# The tests that also run under the sanitizers. (Darknet never frees a network whole: no leaks there.)
UNIT_TESTS = $(BUILD)/tests/test_gemm $(BUILD)/tests/test_packed $(BUILD)/tests/test_training
# LeakSanitizer's thread crashes among those of oneDNN: test_packed and test_cl look for leaks.
UNIT_COMMANDS = $(BUILD)/tests/test_packed 'ASAN_OPTIONS=detect_leaks=0 $(BUILD)/tests/test_gemm' \
    'ASAN_OPTIONS=detect_leaks=0 $(BUILD)/tests/test_training tests/unit/cfg/layers.cfg \
    --forward tests/unit/cfg/layers.cfg tests/unit/cfg/recurrent.cfg'

# Debian's valgrind knows no AVX-512.
VALGRIND = valgrind -q --error-exitcode=127 --leak-check=full $(BUILD)/tests/test_packed --isa avx2 --cases 24 --brief yes

# Convolutions: random geometry, whole networks with the hook on and off, memory.
CONV_NETWORKS = $(BUILD)/tests/test_conv_networks
UNIT_TESTS += $(addprefix $(BUILD)/tests/,test_conv test_conv_networks test_layers)
UNIT_COMMANDS += $(BUILD)/tests/test_layers 'ASAN_OPTIONS=detect_leaks=0 $(BUILD)/tests/test_conv' \
    'ASAN_OPTIONS=detect_leaks=0 $(CONV_NETWORKS) --train tests/unit/cfg/layers.cfg'
CONV_COMMANDS = tests/system/test_memory.sh \
    '$(CONV_NETWORKS) cfg/*.cfg $(MODELS:%=%/*.cfg) --resize cfg/yolov3-tiny.cfg cfg/yolov2.cfg'

# Statistics and A/B. (Darknet's JPEG writer, which test_compare draws with, shifts into the sign bit.)
UNIT_TESTS += $(addprefix $(BUILD)/,tests/test_stats tests/test_compare tests/test_ab_rule bench/ab)
UNIT_COMMANDS += $(BUILD)/tests/test_stats $(if $(filter 1,$(SANITIZE)),,$(BUILD)/tests/test_compare) \
    $(BUILD)/tests/test_ab_rule 'tests/system/test_ab.sh $(BUILD)/bench/ab data'

ifeq ($(OPENCL), 1)
CL_TESTS = $(BUILD)/tests/test_cl $(addprefix $(BUILD)/tests/layer_, adreno.so fail.so unwritten.so)
# some of the networks, as PoCL is slow to start: groups, depthwise, all strides, fully connected
CL_NETWORKS = $(patsubst %,cfg/%.cfg,yolov3-tiny alexnet resnet18 resnext50 darknet19 tiny strided densenet201)
# The script after the program, which leaves PoCL's kernels compiled.
CL_COMMANDS = '$(BUILD)/tests/test_cl && tests/system/test_cl.sh $(UNTRAINED)' tests/system/test_nocl.sh \
    '$(CONV_NETWORKS) --row cl $(CL_NETWORKS) $(MODELS:%=%/*.cfg) --resize cfg/yolov3-tiny.cfg'
# PoCL and LLVM keep to the end what they once took.
ifeq ($(SANITIZE), 1)
UNIT_TESTS += $(BUILD)/tests/test_cl
UNIT_COMMANDS += '$(BUILD)/tests/test_cl --cases 20'
endif
ifeq ($(SANITIZE), thread)
UNIT_TESTS = $(BUILD)/tests/test_cl $(BUILD)/tests/test_packed
UNIT_COMMANDS = '$(BUILD)/tests/test_cl --threads' \
    'TSAN_OPTIONS=die_after_fork=0 $(BUILD)/tests/test_packed'
endif
endif

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

# ---- A/B: is B faster than A? And all figures on one page ----
AB_WEIGHTS = $(if $(filter-out file,$(origin WEIGHTS))$(filter cfg/yolov3-tiny.cfg,$(CFG)),--weights $(WEIGHTS))

ab: packages ## is B faster than A? rows A B, settings ENV_A ENV_B, CFG WEIGHTS IMAGE N AB_OPTS
	$(PARALLEL) all build/release/bench/ab
	$(PARALLEL) default-weights
	@build/release/bench/ab $(if $(A),--a '$(A)') $(if $(B),--b '$(B)') --env-a '$(ENV_A)' --env-b '$(ENV_B)' \
	    --cfg $(CFG) $(AB_WEIGHTS) $(addprefix --image ,$(IMAGE)) $(addprefix -n ,$(N)) $(AB_OPTS)

report: ## one HTML page of all that was measured so far: build/report.html
	@bench/studies/report.sh build build/report.html
