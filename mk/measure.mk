# SPDX-License-Identifier: MIT
# Detecting and measuring.

# Each measurement writes in a new folder "$$result" of $(1); bench/studies/result.sh says what becomes of
# it. Ctrl-C ends the measurement, and the shell goes on to close the result.
# $(call open_result,FOLDER) and, behind the command, $(call close_result,STATUSES OF A WHOLE ONE,FILE)
open_result = result=$$(bench/studies/result.sh open $(1)) || exit 1; trap : INT TERM
comma = ,
close_result = bench/studies/result.sh close "$$result" $$? $(if $(1),'$(1)' $(2))

.PHONY: detect plan detect-all calibrate tune gprof loops explain bench bench-cl bench-detect bench-peers ab report

# VARIANTS names the rows of gprof and detect-all, and `all` is all of them. The article's (bench/studies/articles.tsv)
# and Darknet's own are the default.
ARTICLE_VARIANTS = stock mnk_acc unroll2 unroll4 block1d block2d transpose
BEST_VARIANTS = mkn tile_8_uu vtile_8_uu packed auto

# The last detection, for the report
DETECTED = $(BUILD)/detect
detect: darknet data default-weights ## detect: objects of IMAGE, picture or folder: CFG WEIGHTS NAMES; installs packages
	@$(SET_WEIGHTS); GEMM_IMPL=$(GEMM_IMPL) demo/detect.sh $(DETECTED) $(call quote,$(CFG)) "$$weights" $(call quote,$(IMAGE)) $(call quote,$(NAMES))

plan: all ## detect: a line for each call of a pass: its way, and why: CFG GEMM_PREPARE=second
	@GEMM_IMPL=$(GEMM_IMPL) bench/studies/plan.sh ./darknet $(call quote,$(CFG))

detect-all: all default-weights $(OUT)/bench/detect_all ## detect: seconds of each variant, and its difference to stock: IMAGES VARIANTS=all
	@$(SET_WEIGHTS); $(call open_result,$(BUILD)/detect-all); \
	    GEMM_CONV=$${GEMM_CONV:-im2col} $(OUT)/bench/detect_all $(if $(filter all,$(VARIANTS)),,--rows $(subst $() ,$(comma),$(strip $(or $(VARIANTS),$(ARTICLE_VARIANTS) $(BEST_VARIANTS))))) \
	    --out "$$result/table.txt" \
	    $(call quote,$(CFG)) "$$weights" $(IMAGES); $(call close_result,0 1,table.txt)

calibrate: all default-weights ## detect: the steps of 8 bits for GEMM_IMPL=packed_int8: CFG WEIGHTS IMAGES ERROR=0.05
	@$(SET_WEIGHTS); bench/calibrate/calibrate.sh $(if $(ERROR),--error $(call quote,$(ERROR))) ./darknet $(call quote,$(CFG)) "$$weights" $(IMAGES)

# CFG=WEIGHTS, as detect finds them. Only GEMM_AUTO_BITS=8 needs weights, because it knows a layer by its weights.
TUNED = $(foreach cfg,$(CFG),$(call quote,$(cfg)$(if $(WEIGHTS),=$(WEIGHTS),$(addprefix =,$(wildcard $(cfg:.cfg=.weights))))))
tune: all $(OUT)/bench/tune ## detect: measure the rows for GEMM_IMPL=auto and cl: CFG="cfg ...", WEIGHTS of one cfg
	$(if $(and $(WEIGHTS),$(word 2,$(CFG))),$(error WEIGHTS=$(WEIGHTS) is for one CFG. Of several those beside them are taken: x.weights beside x.cfg))
	@$(OUT)/bench/tune $(call quote,$(IMAGE)) $(TUNED)

# The profile is a configuration of its own: make is called for it once more, and for the release with its own flags.
GPROF = $(BUILD)/gprof$(subst $() ,_,$(STUDY_OPTS))$(if $(filter 0,$(OPENCL)),-nocl)
LIST_CPU_VARIANTS = ./gemm-bench --list | \
    awk -F '\t' '$$2 == "usable" && $$1 !~ /^(cl|openblas|blis|onednn|hybrid)/ { print $$1 }'
gprof: ## measure: where the time of a detection goes, beside an article: VARIANTS=all N PROCESSES
	@$(MAKE) $(if $(Q),-s) LEVEL=0 STUDY_OPTS=-Ofast darknet gemm-bench data default-weights
	@$(if $(filter-out all,$(VARIANTS)),said=$$(./gemm-bench --impl $(subst $() ,$(comma),$(strip $(VARIANTS))) --list 2>&1 >/dev/null) || { echo "$$said" | tail -n 1 >&2; exit 2; })
	@$(MAKE) $(if $(Q),-s) LEVEL=0 PROFILE=1 $(GPROF)/darknet
	@$(SET_WEIGHTS); $(call open_result,$(GPROF)/results); \
	    GEMM_CONV=$${GEMM_CONV:-im2col} N=$(N) PROCESSES=$(PROCESSES) bench/studies/gprof.sh \
	    $(abspath $(GPROF))/darknet "$$result" $(call quote,$(CFG)) "$$weights" $(call quote,$(IMAGE)) \
	    $(if $(filter all,$(VARIANTS)),$$($(LIST_CPU_VARIANTS)),$(or $(VARIANTS),$(ARTICLE_VARIANTS) packed)); $(close_result)

loops: all ## measure: loop orders, unrollings and tiles on 512x512x1024: LOOPS_OPTIONS
	@$(call open_result,$(BUILD)/loops); bench/studies/loops.sh ./gemm-bench "$$result" $(LOOPS_OPTIONS); $(close_result)

explain: all $(OUT)/bench/one_call ## measure: why each CPU row is fast: counts, misses, ranks: ROWS CACHES EXPLAIN_SHAPE
	@$(call open_result,$(BUILD)/explain); \
	    bench/studies/explain.sh ./gemm-bench $(OUT)/bench/one_call "$$result" $(ROWS); $(close_result)

bench: all default-weights $(OUT)/bench/ab ## measure: the speed table of packed, and its curve over size
	@$(SET_WEIGHTS); $(call open_result,$(BUILD)/bench); \
	    bench/studies/bench.sh ./gemm-bench $(OUT)/bench/ab "$$weights" "$$result"; $(close_result)

bench-cl: all $(OUT)/bench/bench_cl ## measure: OpenCL rows on GEMM_CL_DEVICE: CL_BENCH=--quick, --ladder (of a paper)
	@$(call open_result,$(BUILD)/bench-cl); \
	    bench/studies/result.sh keep "$$result/bench-cl.txt" $(OUT)/bench/bench_cl $(CL_BENCH) \
	    $(if $(filter --ladder,$(CL_BENCH)),,--squares "$$result/squares.tsv" && bench/studies/squares.sh "$$result"); $(close_result)

# The networks of a table, cfg=weights, as the arguments "$$@". NETWORKS replaces them.
SET_TRAINED = $(if $(NETWORKS),:,$(SET_OWN_NETWORKS))
SET_OWN_NETWORKS = $(SET_WEIGHTS); set -- $(call quote,$(CFG))="$$weights"; for model in $(call quote,$(MODELS))/*.weights; do \
    [ ! -f "$$model" ] || set -- "$$@" "$${model%.weights}.cfg=$$model"; done
ifneq ($(FORKS),1)
bench-detect: all default-weights $(OUT)/bench/bench_detect $(if $(filter 1,$(COLD)),$(OUT)/bench/darknet_phases) ## measure: passes of networks: NETWORKS THREADS ROUNDS ROWS COLD=1 FORKS=1
	@$(SET_TRAINED); set -- $(or $(NETWORKS),"$$@" \
	    $(patsubst %,cfg/%.cfg,alexnet extraction resnet18 darknet19 yolov2-tiny yolov3)); \
	    $(call open_result,$(BUILD)/bench-detect); \
	    bench/studies/result.sh keep "$$result/bench-detect.txt" $(if $(filter 1,$(COLD)), \
	        bench/studies/cold.sh $(OUT)/bench/bench_detect $(OUT)/bench/darknet_phases $(lastword $(subst $(comma), ,$(THREADS))) $(ROUNDS), \
	        $(OUT)/bench/bench_detect $(addprefix --rows ,$(ROWS)) --threads $(THREADS) --rounds $(ROUNDS)) $(call quote,$(IMAGE)) "$$@"; $(close_result)
else
# Other Darknets, alone and with whole layers beside the patched one. The cfg of AlexeyAB's with groups in its routes takes
# part where that tree is named.
bench-detect: $(OUT)/libdarknet.so
	@$(foreach name,ALEXEYAB HANKAI HANKAI_BLAS,$(if $($(name)),$(name)=$(abspath $($(name))))) CC=$(call quote,$(CC)) \
	    bench/forks/reach.sh $(OUT) $(ROUNDS) 5 cfg/yolov3-tiny.cfg $(wildcard $(MODELS)/*.cfg) \
	    $(if $(ALEXEYAB),$(abspath $(ALEXEYAB))/cfg/yolov4-tiny.cfg)
endif

# By default with 1, 2, 4 ... and all cores.
PEERS_THREADS = $(if $(filter file,$(origin THREADS)),,--threads $(THREADS))
PEERS_VENV = $(BUILD)/peers/venv
# Both sides calibrate on the other pictures.
PEERS_INT8 = $(if $(filter int8,$(PRECISION)),--darknet $(OUT)/darknet $(addprefix --calibrate ,$(filter-out $(IMAGE),$(wildcard data/*.jpg))) $(if $(ERROR),--error $(call quote,$(ERROR))))
bench-peers: all default-weights $(OUT)/bench/bench_detect ## measure: beside other runtimes, of PyPI: NETWORKS THREADS PRECISION=int8 ERROR COLD=1
	@$(if $(PEERS_PYTHON),,bench/peers/venv.sh $(PEERS_VENV) $(if $(PEERS_INT8),bench/peers/requirements-int8.txt) || { [ $$? = 3 ]; exit; };) \
	    $(SET_TRAINED); set -- $(or $(NETWORKS),"$$@"); $(call open_result,$(BUILD)/peers); \
	    $(or $(PEERS_PYTHON),$(PEERS_VENV)/bin/python) -B bench/peers/peers.py --bench $(OUT)/bench/bench_detect \
	    --out "$$result" $(PEERS_THREADS) --rounds $(ROUNDS) $(if $(filter 1,$(COLD)),--cold) \
	    $(addprefix --precision ,$(PRECISION)) $(PEERS_INT8) $(call quote,$(IMAGE)) "$$@"; \
	    status=$$?; rm -rf "$$result"/[0-9]*-*/; (exit $$status); $(close_result)

AB_WEIGHTS = $(if $(WEIGHTS)$(BESIDE)$(filter cfg/yolov3-tiny.cfg,$(CFG)),--weights "$$weights")
AB_SIDES = $(if $(A),--a '$(A)') $(if $(B),--b '$(B)') --env-a '$(ENV_A)' --env-b '$(ENV_B)'
ifneq ($(COMMITS),1)
ab: ab-check all default-weights $(OUT)/bench/ab ## measure: is B faster than A? A B ENV_A ENV_B CFG IMAGE N AB_OPTS; COMMITS=1: of git
	@$(if $(AB_WEIGHTS),$(SET_WEIGHTS);) $(call open_result,$(BUILD)/ab); $(OUT)/bench/ab --out "$$result" $(AB_SIDES) --cfg $(call quote,$(CFG)) $(AB_WEIGHTS) \
	    $(addprefix --image ,$(IMAGE)) $(addprefix -n ,$(N)) $(AB_OPTS); $(call close_result,0 3 4)

# A wrong name is told before weights are fetched or made.
.PHONY: ab-check
ab-check: $(OUT)/bench/ab
	@$(OUT)/bench/ab --check $(AB_SIDES) $(AB_OPTS) >/dev/null
ifneq ($(filter ab,$(MAKECMDGOALS)),)
default-weights: ab-check
endif

else
# The commits A and B, each with GEMM_IMPL and the settings of its side. B is HEAD unless named.
AB_COMMITS = MAKE='$(MAKE)' MAKE_ARGUMENTS='OPENCL=$(OPENCL) DEBUG=$(DEBUG) CC=$(firstword $(CC))' bench/ab/commits.sh $(BUILD)/commits \
    $(call quote,$(or $(A),$(error A=commit is needed))) $(call quote,$(or $(B),HEAD)) $(abspath $(UPSTREAM))

# A commit that does not exist is told before weights are fetched or made.
.PHONY: ab-commits-check
ab-commits-check:
	@$(AB_COMMITS)
ifneq ($(filter ab,$(MAKECMDGOALS)),)
default-weights: ab-commits-check
endif

ab: ab-commits-check all default-weights $(OUT)/bench/ab
	@$(if $(AB_WEIGHTS),$(SET_WEIGHTS);) $(call open_result,$(BUILD)/ab); $(AB_COMMITS) $(OUT)/bench/ab --out "$$result" \
	    --env-a '$(ENV_A)' --env-b '$(ENV_B)' --cfg $(call quote,$(CFG)) $(AB_WEIGHTS) \
	    $(addprefix --image ,$(IMAGE)) $(addprefix -n ,$(N)) $(AB_OPTS); $(call close_result,0 3 4)
endif

report: ## measure: one HTML page of all that was measured so far: build/report.html
	@bench/studies/report.sh $(BUILD) $(BUILD)/report.html
