# SPDX-License-Identifier: MIT
# Detecting and measuring.

# Each measurement writes in a new folder "$$result" of $(1); bench/studies/result.sh says what becomes of
# it. Ctrl-C ends the measurement, and the shell goes on to close the result.
# $(call open_result,FOLDER) and, behind the command, $(call close_result,STATUSES OF A WHOLE ONE,FILE)
open_result = result=$$(bench/studies/result.sh open $(1)) || exit 1; trap : INT TERM
comma = ,
close_result = bench/studies/result.sh close "$$result" $$? $(if $(1),'$(1)' $(2))

.PHONY: detect plan detect-all calibrate tune gprof loops explain bench bench-cl bench-detect bench-peers ab ab-commits report

detect: darknet data default-weights ## detect IMAGE under GEMM_IMPL, with CFG and WEIGHTS; installs Debian packages first
	@$(SET_WEIGHTS); export GEMM_IMPL=$(GEMM_IMPL); set -- $(call quote,$(CFG)) "$$weights" $(call quote,$(IMAGE)); \
	    case $$weights in *-untrained.weights) demo/detect.sh "$$@" ;; *) set -x; ./darknet detect "$$@" ;; esac

plan: all ## a line for each call of a pass through CFG: its way, why, and what it keeps; GEMM_PREPARE=second: of the first picture
	@GEMM_IMPL=$(GEMM_IMPL) bench/studies/plan.sh ./darknet $(call quote,$(CFG))

detect-all: all default-weights $(OUT)/bench/detect_all ## one table: every variant's detection seconds and difference to stock: IMAGES
	@$(SET_WEIGHTS); $(call open_result,$(BUILD)/detect-all); \
	    GEMM_CONV=$${GEMM_CONV:-im2col} $(OUT)/bench/detect_all --out "$$result/table.txt" \
	    $(call quote,$(CFG)) "$$weights" $(IMAGES); $(call close_result,0 1,table.txt)

calibrate: all default-weights ## the steps of 8 bits for GEMM_IMPL=packed_int8, beside the weights: CFG WEIGHTS IMAGES
	@$(SET_WEIGHTS); bench/calibrate/calibrate.sh ./darknet $(call quote,$(CFG)) "$$weights" $(IMAGES)

# CFG=WEIGHTS, as detect finds them. Only GEMM_AUTO_BITS=8 needs weights, because it knows a layer by its weights.
TUNED = $(foreach cfg,$(CFG),$(call quote,$(cfg)$(if $(WEIGHTS),=$(WEIGHTS),$(addprefix =,$(wildcard $(cfg:.cfg=.weights))))))
tune: all $(OUT)/bench/tune ## measure every row, and the kernels of cl, on the shapes of networks, for GEMM_IMPL=auto and cl: CFG="cfg ...", WEIGHTS for one cfg
	$(if $(and $(WEIGHTS),$(word 2,$(CFG))),$(error WEIGHTS=$(WEIGHTS) is for one CFG. Of several those beside them are taken: x.weights beside x.cfg))
	@$(OUT)/bench/tune $(call quote,$(IMAGE)) $(TUNED)

# The profile is a configuration of its own: make is called for it once more.
GPROF = $(BUILD)/gprof$(subst $() ,_,$(STUDY_OPTS))$(if $(filter 0,$(OPENCL)),-nocl)
LIST_CPU_VARIANTS = ./gemm-bench --list | \
    awk -F '\t' '$$2 == "usable" && $$1 !~ /^(cl|openblas|blis|onednn|hybrid)/ { print $$1 }'
gprof: all default-weights ## hotspots of a detection under each variant: VARIANTS N PROCESSES STUDY_OPTS
	@$(MAKE) PROFILE=1 $(GPROF)/darknet
	@$(SET_WEIGHTS); $(call open_result,$(GPROF)/results); \
	    GEMM_CONV=$${GEMM_CONV:-im2col} N=$(N) PROCESSES=$(PROCESSES) bench/studies/gprof.sh \
	    $(abspath $(GPROF))/darknet "$$result" $(call quote,$(CFG)) "$$weights" $(call quote,$(IMAGE)) \
	    $(or $(VARIANTS),$$($(LIST_CPU_VARIANTS))); $(close_result)

loops: all ## the study of loop orders, unrollings and tiles on 512x512x1024: LOOPS_OPTIONS
	@$(call open_result,$(BUILD)/loops); bench/studies/loops.sh ./gemm-bench "$$result" $(LOOPS_OPTIONS); $(close_result)

explain: all $(OUT)/bench/one_call ## why each CPU row is fast or not: counts, misses under four caches, predicted and measured rank: ROWS CACHES EXPLAIN_SHAPE
	@$(call open_result,$(BUILD)/explain); \
	    bench/studies/explain.sh ./gemm-bench $(OUT)/bench/one_call "$$result" $(ROWS); $(close_result)

bench: all default-weights $(OUT)/bench/ab ## the speed table of packed and its curve over size: build/bench
	@$(SET_WEIGHTS); $(call open_result,$(BUILD)/bench); \
	    bench/studies/bench.sh ./gemm-bench $(OUT)/bench/ab "$$weights" "$$result"; $(close_result)

bench-cl: all $(OUT)/bench/bench_cl ## the OpenCL rows on the device of GEMM_CL_DEVICE, as tables: CL_BENCH=--quick, --ladder: the search of the Adreno 330 paper
	@$(call open_result,$(BUILD)/bench-cl); \
	    bench/studies/result.sh keep "$$result/bench-cl.txt" $(OUT)/bench/bench_cl $(CL_BENCH) \
	    $(if $(filter --ladder,$(CL_BENCH)),,--squares "$$result/squares.tsv" && bench/studies/squares.sh "$$result"); $(close_result)

# The networks of a table, cfg=weights, as the arguments "$$@". NETWORKS replaces them.
SET_TRAINED = $(if $(NETWORKS),:,$(SET_OWN_NETWORKS))
SET_OWN_NETWORKS = $(SET_WEIGHTS); set -- $(call quote,$(CFG))="$$weights"; for model in $(call quote,$(MODELS))/*.weights; do \
    [ ! -f "$$model" ] || set -- "$$@" "$${model%.weights}.cfg=$$model"; done
bench-detect: all default-weights $(OUT)/bench/bench_detect ## forward passes by hook and by im2col: NETWORKS THREADS ROUNDS OPTIONS; ROWS=stock:im2col,packed,cl: of these rows; COLD=1: the first one of new processes
	@$(SET_TRAINED); set -- $(or $(NETWORKS),"$$@" \
	    $(patsubst %,cfg/%.cfg,alexnet extraction resnet18 darknet19 yolov2-tiny yolov3)); \
	    $(call open_result,$(BUILD)/bench-detect); \
	    bench/studies/result.sh keep "$$result/bench-detect.txt" $(if $(filter 1,$(COLD)), \
	        bench/studies/cold.sh $(OUT)/bench/bench_detect $(lastword $(subst $(comma), ,$(THREADS))) $(ROUNDS), \
	        $(OUT)/bench/bench_detect $(addprefix --rows ,$(ROWS)) --threads $(THREADS) --rounds $(ROUNDS) $(OPTIONS)) $(call quote,$(IMAGE)) "$$@"; $(close_result)

# By default with 1, 2, 4 ... and all cores.
PEERS_THREADS = $(if $(filter file,$(origin THREADS)),,--threads $(THREADS))
PEERS_VENV = $(BUILD)/peers/venv
# Both sides calibrate on the other pictures.
PEERS_INT8 = $(if $(filter int8,$(PRECISION)),--darknet $(OUT)/darknet $(addprefix --calibrate ,$(filter-out $(IMAGE),$(wildcard data/*.jpg))))
bench-peers: all default-weights $(OUT)/bench/bench_detect ## the hook beside onnxruntime, OpenVINO, ncnn, OpenCV, LiteRT and MNN (from PyPI): NETWORKS THREADS ROUNDS PEERS_PYTHON; PRECISION=default: theirs, int8: beside OpenVINO's; COLD=1: the first pass of new processes
	@$(if $(PEERS_PYTHON),,bench/peers/venv.sh $(PEERS_VENV) $(if $(PEERS_INT8),bench/peers/requirements-int8.txt) || { [ $$? = 3 ]; exit; };) \
	    $(SET_TRAINED); set -- $(or $(NETWORKS),"$$@"); $(call open_result,$(BUILD)/peers); \
	    $(or $(PEERS_PYTHON),$(PEERS_VENV)/bin/python) -B bench/peers/peers.py --bench $(OUT)/bench/bench_detect \
	    --out "$$result" $(PEERS_THREADS) --rounds $(ROUNDS) $(if $(filter 1,$(COLD)),--cold) \
	    $(addprefix --precision ,$(PRECISION)) $(PEERS_INT8) $(call quote,$(IMAGE)) "$$@"; \
	    status=$$?; rm -rf "$$result"/[0-9]*-*/; (exit $$status); $(close_result)

AB_WEIGHTS = $(if $(WEIGHTS)$(BESIDE)$(filter cfg/yolov3-tiny.cfg,$(CFG)),--weights "$$weights")
AB_SIDES = $(if $(A),--a '$(A)') $(if $(B),--b '$(B)') --env-a '$(ENV_A)' --env-b '$(ENV_B)'
ab: ab-check all default-weights $(OUT)/bench/ab ## is B faster than A? rows A B, settings ENV_A ENV_B, CFG WEIGHTS IMAGE N AB_OPTS
	@$(if $(AB_WEIGHTS),$(SET_WEIGHTS);) $(call open_result,$(BUILD)/ab); $(OUT)/bench/ab --out "$$result" $(AB_SIDES) --cfg $(call quote,$(CFG)) $(AB_WEIGHTS) \
	    $(addprefix --image ,$(IMAGE)) $(addprefix -n ,$(N)) $(AB_OPTS); $(call close_result,0 3 4)

# A wrong name is told before weights are fetched or made.
.PHONY: ab-check
ab-check: $(OUT)/bench/ab
	@$(OUT)/bench/ab --check $(AB_SIDES) $(AB_OPTS) >/dev/null
ifneq ($(filter ab,$(MAKECMDGOALS)),)
default-weights: ab-check
endif

# The commits A and B, each with GEMM_IMPL and the settings of its side. B is HEAD unless named.
AB_COMMITS = MAKE='$(MAKE)' MAKE_ARGUMENTS='OPENCL=$(OPENCL) DEBUG=$(DEBUG) CC=$(firstword $(CC))' bench/ab/commits.sh $(BUILD)/commits \
    $(call quote,$(or $(A),$(error A=commit is needed))) $(call quote,$(or $(B),HEAD)) $(abspath $(UPSTREAM))

# A commit that does not exist is told before weights are fetched or made.
.PHONY: ab-commits-check
ab-commits-check:
	@$(AB_COMMITS)
ifneq ($(filter ab-commits,$(MAKECMDGOALS)),)
default-weights: ab-commits-check
endif

ab-commits: ab-commits-check all default-weights $(OUT)/bench/ab ## is commit B faster than commit A? A B, settings ENV_A ENV_B, CFG WEIGHTS IMAGE N AB_OPTS
	@$(if $(AB_WEIGHTS),$(SET_WEIGHTS);) $(call open_result,$(BUILD)/ab); $(AB_COMMITS) $(OUT)/bench/ab --out "$$result" \
	    --env-a '$(ENV_A)' --env-b '$(ENV_B)' --cfg $(call quote,$(CFG)) $(AB_WEIGHTS) \
	    $(addprefix --image ,$(IMAGE)) $(addprefix -n ,$(N)) $(AB_OPTS); $(call close_result,0 3 4)

report: ## one HTML page of all that was measured so far: build/report.html
	@bench/studies/report.sh $(BUILD) $(BUILD)/report.html
