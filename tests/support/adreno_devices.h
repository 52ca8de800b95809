/* SPDX-License-Identifier: MIT */
/*
 * Adreno GPUs as their drivers describe themselves, for tests/support/layer_adreno.c and the test
 * that walks them. The answers come from public reports. [m] marks what no report has: it is made
 * up after the others. A member that is 0 or NULL stands for the answer of the others.
 */
#ifndef ADRENO_DEVICES_H
#define ADRENO_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct adreno_device {
    const char *id;             /* the value of ADRENO_DEVICE */
    const char *shown;          /* the name that gemm-bench --list must show */
    int number;                 /* of the model; 0: none can be known */
    const char *name, *version, *c_version, *driver;
    size_t driver_bytes;        /* as reported; 0: not reported */
    const char *platform;       /* the platform's version; NULL: the driver's up to " Compiler" */
    const char *extensions;     /* whole, or the beginning of a list of extension_bytes; NULL: what
                                   all lists have */
    size_t extension_bytes;     /* 0: `extensions` is whole */
    bool extension_blank;       /* the list ends with a blank */
    uint32_t vendor;
    unsigned units;
    uint64_t memory, largest;   /* bytes: of the device, of one buffer */
    uint64_t cache;
    size_t group;               /* the most items of a group */
    bool rusticl;               /* the limits of Mesa's driver: 64 items deep, no pitch, local
                                   memory is global memory */
    bool twice;                 /* the platform lists the device twice */
} adreno_device;

#define MIB(n) ((uint64_t)(n) << 20)

/* What the lists of all of Qualcomm's drivers have, in their order. */
#define COMMON_EXTENSIONS \
    "cl_khr_3d_image_writes cl_khr_byte_addressable_store cl_khr_depth_images cl_khr_egl_event " \
    "cl_khr_egl_image cl_khr_fp16 cl_khr_gl_sharing cl_khr_global_int32_base_atomics " \
    "cl_khr_global_int32_extended_atomics cl_khr_image2d_from_buffer " \
    "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics cl_khr_mipmap_image " \
    "cl_khr_srgb_image_writes cl_khr_subgroups"

#define TEN_TIMES(text) text text text text text text text text text text
#define LONG_WORD TEN_TIMES(TEN_TIMES("long-long-words"))

/* A driver whose name has no model. */
#define UNNAMED(model, major) \
    .id = #model, .shown = "QUALCOMM Adreno(TM) " #model, .name = "QUALCOMM Adreno(TM)", \
    .version = "OpenCL " major ".0 Adreno(TM) " #model, \
    .c_version = "OpenCL C " major ".0 Adreno(TM) " #model

/* A driver whose name has it. */
#define NAMED(model) \
    .id = #model, .shown = "QUALCOMM Adreno(TM) " #model, .name = "QUALCOMM Adreno(TM) " #model, \
    .version = "OpenCL 3.0 Adreno(TM) " #model, .c_version = "OpenCL C 3.0 Adreno(TM) " #model

static const adreno_device adreno_devices[] = {
    {UNNAMED(505, "2"), .number = 505, .vendor = 0xbf4d3c4b, .driver_bytes = 137,
     .driver = "OpenCL 2.0 QUALCOMM build: commit #a7f70d7 changeid #I06947f1a28 Date: 11/19/18 "
               "Mon Local Branch:  Remote Branch:  Compiler E031.36.02.00",
     .platform = "OpenCL 2.0 QUALCOMM build: commit #a7f70d7 changeid #I06947f1a28 Date: 11/19/18 "
                 "Mon Local Branch:  Remote Branch: "},
    {UNNAMED(530, "2"), .number = 530, .units = 4, .driver_bytes = 192,
     .driver = "OpenCL 2.0 QUALCOMM build: commit #6ff34ae changeid #I0ac3940325 Date: 09/23/16 "
               "Fri Local Branch:  Remote Branch: "
               "refs/tags/AU_LINUX_ANDROID_LA.HB.1.3.2.06.00.01.214.261 Compiler E031.31.00.01"},
    {UNNAMED(540, "2"), .number = 540,
     .driver = "OpenCL 2.0 QUALCOMM build: [m] Compiler E031.35.00.00"},
    {UNNAMED(610, "2"), .number = 610,
     .driver = "OpenCL 2.0 QUALCOMM build: [m] Compiler E031.37.12.07",
     .platform = "OpenCL 3.0 QUALCOMM build: [m]"},
    {UNNAMED(619v2, "2"), .number = 619, .units = 1,
     .driver = "OpenCL 2.0 QUALCOMM build: [m] Compiler E031.45.02.26",
     .extensions = COMMON_EXTENSIONS " cl_qcom_recordable_queues cl_qcom_subgroup_shuffle "
                   "cl_qcom_reqd_sub_group_size"},
    {UNNAMED(620, "2"), .number = 620, .units = 1, .memory = MIB(4024),
     .driver = "OpenCL 2.0 QUALCOMM build: [m] Compiler E031.37.12.07"},
    {UNNAMED(630, "2"), .number = 630, .driver_bytes = 193,
     .driver = "OpenCL 2.0 QUALCOMM build: commit #fdd61e0 changeid #I20154638fb Date: 10/07/20 "
               "Wed Local Branch:  Remote Branch: "
               "refs/tags/AU_LINUX_ANDROID_LA.UM.8.3.R1.10.00.00.520.058 Compiler E031.37.03.00"},
    {UNNAMED(640, "2"), .number = 640, .memory = MIB(2752), .cache = 131072,
     .driver = "OpenCL 2.0 QUALCOMM build: commit #3dad7f8ed7 changeid #I593c16c433 Date: "
               "10/01/21 Fri Local Branch:  Remote Branch: "
               "refs/tags/AU_LINUX_ANDROID_LA.UM.9.1.R1.11.00.00.604.073 Compiler [m]",
     .extension_bytes = 780, .extension_blank = true},
    {UNNAMED(642L, "2"), .number = 642, .driver_bytes = 140,
     .driver = "OpenCL 2.0 QUALCOMM build: commit #272cf717f5 changeid #Iee40f504b5 Date: "
               "10/05/21 Tue Local Branch:  Remote Branch:  Compiler E031.38.01.08"},
    {NAMED(643), .number = 643, .memory = MIB(3642), .largest = MIB(910),
     .driver_bytes = 56, .driver = "OpenCL 3.0 QUALCOMM build: 0838.2 Compiler E031.50.15.00"},
    {UNNAMED(650, "2"), .number = 650, .units = 3, .memory = 3992293376,
     .largest = 998073344, .cache = 131072, .driver_bytes = 194,
     .driver = "OpenCL 2.0 QUALCOMM build: commit #191610ae03 changeid #Ic907de5ed0 Date: "
               "09/17/20 Thu Local Branch:  Remote Branch: "
               "refs/tags/AU_LINUX_ANDROID_LA.UM.9.12.10.00.00.582.274 Compiler E031.37.12.01",
     .extensions =
         "cl_khr_3d_image_writes cl_img_egl_image cl_khr_byte_addressable_store "
         "cl_khr_depth_images cl_khr_egl_event cl_khr_egl_image cl_khr_fp16 cl_khr_gl_sharing "
         "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics "
         "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics "
         "cl_khr_image2d_from_buffer cl_khr_mipmap_image cl_khr_srgb_image_writes "
         "cl_khr_subgroups cl_qcom_create_buffer_from_image cl_qcom_ext_host_ptr "
         "cl_qcom_ion_host_ptr cl_qcom_perf_hint cl_qcom_other_image cl_qcom_subgroup_shuffle "
         "cl_qcom_vector_image_ops cl_qcom_extract_image_plane "
         "cl_qcom_android_native_buffer_host_ptr cl_qcom_protected_context "
         "cl_qcom_priority_hint cl_qcom_compressed_yuv_image_read cl_qcom_compressed_image "
         "cl_qcom_ext_host_ptr_iocoherent cl_qcom_accelerated_image_ops cl_qcom_dot_product8",
     .extension_bytes = 869},
    {.id = "710", .shown = "QUALCOMM Adreno(TM) 710", .number = 710, .name = "QUALCOMM Adreno(TM)",
     .version = "OpenCL 3.0 Adreno(TM)" /* [m] */, .c_version = "OpenCL C 3.0 Adreno(TM) 710",
     .driver = "OpenCL 3.0 QUALCOMM build: [m] Compiler E031.41.03.44"},
    {UNNAMED(730, "3"), .number = 730, .units = 4, .memory = 5973733376,
     .largest = 1073741824, .cache = 262144, .driver_bytes = 137,
     .driver = "OpenCL 3.0 QUALCOMM build: commit #16c1863 changeid #I6928db2619 Date: 01/19/23 "
               "Thu Local Branch:  Remote Branch:  Compiler E031.38.11.12",
     .extension_bytes = 959},
    {NAMED(735), .number = 735,
     .driver = "OpenCL 3.0 QUALCOMM build: commit unknown Compiler [m]",
     .extensions =
         COMMON_EXTENSIONS " cl_qcom_accelerated_image_ops "
         "cl_qcom_android_ahardwarebuffer_host_ptr cl_qcom_android_native_buffer_host_ptr "
         "cl_qcom_bitreverse cl_qcom_compressed_image cl_qcom_create_buffer_from_image "
         "cl_qcom_dmabuf_host_ptr cl_qcom_dot_product8 cl_qcom_ext_host_ptr "
         "cl_qcom_ext_host_ptr_iocoherent cl_qcom_extended_query_image_info "
         "cl_qcom_extract_image_plane cl_qcom_filter_bicubic cl_qcom_other_image "
         "cl_qcom_perf_hint cl_qcom_priority_hint cl_qcom_protected_context "
         "cl_qcom_recordable_queues cl_qcom_reqd_sub_group_size cl_qcom_subgroup_shuffle "
         "cl_qcom_vector_image_ops cl_qcom_onchip_global_memory cl_qcom_large_buffer"},
    {UNNAMED(740, "3"), .number = 740, .units = 6, .memory = MIB(7629),
     .driver_bytes = 64,
     .driver = "OpenCL 3.0 QUALCOMM build: commit unknown Compiler E031.41.03.44"},
    {.id = "QCS8550", .shown = "QUALCOMM (Adreno)", .name = "QUALCOMM ",
     .version = "OpenCL 3.0 ", .c_version = "OpenCL C 3.0 " /* [m] */, .largest = MIB(256),
     .driver_bytes = 64,
     .driver = "OpenCL 3.0 QUALCOMM build: commit unknown Compiler E031.42.20.00",
     .extensions = "cl_ext_image_from_buffer cl_ext_image_requirements_info " COMMON_EXTENSIONS,
     .extension_bytes = 1017, .extension_blank = true},
    {.id = "QCS8550-later", .shown = "QUALCOMM (Adreno 740)", .number = 740,
     .name = "QUALCOMM ", .version = "OpenCL 3.0 Adreno(TM) 740",
     .c_version = "OpenCL C 3.0 Adreno(TM) 740" /* [m] */, .largest = MIB(256),
     .driver = "OpenCL 3.0 QUALCOMM build: [m] Compiler E031.43.00.00"},
    {NAMED(750), .number = 750, .units = 6, .memory = 5814714368, .largest = 1073741824,
     .cache = MIB(1), .driver_bytes = 57,
     .driver = "OpenCL 3.0 QUALCOMM build: 0762.39 Compiler E031.45.02.26"},
    {NAMED(810), .number = 810,
     .driver = "OpenCL 3.0 QUALCOMM build: [m] Compiler E031.47.12.00"},
    {NAMED(830), .number = 830, .largest = 1073741824, .driver_bytes = 57,
     .driver = "OpenCL 3.0 QUALCOMM build: 0800.40 Compiler E031.47.18.30",
     .extension_bytes = 1583},
    {NAMED(840), .number = 840, .driver_bytes = 59,
     .driver = "OpenCL 3.0 QUALCOMM build: 0842.19.8 Compiler E031.50.19.18"},
    {NAMED(850), .number = 850,
     .driver = "OpenCL 3.0 QUALCOMM build: [m] Compiler E17.51"},
    {.id = "X1-85", .shown = "Qualcomm(R) Adreno(TM) X1-85 GPU",
     .name = "Qualcomm(R) Adreno(TM) X1-85 GPU",
     .version = "OpenCL 3.0 Qualcomm(R) Adreno(TM) X1-85 GPU",
     .c_version = "OpenCL C 3.0 Qualcomm(R) Adreno(TM) X1-85 GPU" /* [m] */,
     .memory = MIB(16161), .largest = MIB(2048), .driver_bytes = 53,
     .driver = "OpenCL 3.0 QUALCOMM build: 827.0 Compiler DX.18.05.00"},
    {.id = "X1-45", .shown = "Qualcomm(R) Adreno(TM) X1-45 GPU", .units = 3,
     .name = "Qualcomm(R) Adreno(TM) X1-45 GPU",
     .version = "OpenCL 3.0 Qualcomm(R) Adreno(TM) X1-45 GPU",
     .c_version = "OpenCL C 3.0 Qualcomm(R) Adreno(TM) X1-45 GPU" /* [m] */, .driver_bytes = 53,
     .driver = "OpenCL 3.0 QUALCOMM build: 863.0 Compiler DX.50.41.00"},
    {.id = "X2-90", .shown = "Qualcomm(R) Adreno(TM) X2-90 GPU", .twice = true,
     .name = "Qualcomm(R) Adreno(TM) X2-90 GPU",        /* [m], after X1-85 */
     .version = "OpenCL 3.0 Qualcomm(R) Adreno(TM) X2-90 GPU",
     .c_version = "OpenCL C 3.0 Qualcomm(R) Adreno(TM) X2-90 GPU",
     .driver = "OpenCL 3.0 QUALCOMM build: [m] Compiler DX.60.00.00"},
    {.id = "FD630", .shown = "FD630 (Adreno 630)", .number = 630, .name = "FD630",
     .version = "OpenCL 3.0 ", .c_version = "OpenCL C 1.2 ", .driver = "25.0.7-2",
     .platform = "OpenCL 3.0 " /* [m] */, .group = 2048, .rusticl = true,
     .extensions = "cl_khr_byte_addressable_store cl_khr_global_int32_base_atomics "
                   "cl_khr_image2d_from_buffer cl_khr_icd" /* [m] */},
    /* No device: longer texts than any. */
    {.id = "long", .shown = LONG_WORD " Adreno(TM) 650", .number = 650,
     .name = LONG_WORD " Adreno(TM) 650", .version = "OpenCL 2.0 Adreno(TM) 650",
     .c_version = "OpenCL C 2.0 Adreno(TM) 650", .driver = LONG_WORD LONG_WORD LONG_WORD,
     .driver_bytes = 4500, .extension_bytes = 9000},
    {.id = "FD702", .shown = "FD702 (Adreno 702)", .number = 702, .name = "FD702",
     .version = "OpenCL 3.0 ", .c_version = "OpenCL C 1.2 ", .driver = "25.0.7-2" /* [m] */,
     .platform = "OpenCL 3.0 " /* [m] */, .group = 2048, .rusticl = true,
     .extensions = "cl_khr_byte_addressable_store cl_khr_global_int32_base_atomics "
                   "cl_khr_image2d_from_buffer cl_khr_icd" /* [m] */},
};
enum { ADRENO_DEVICES = sizeof adreno_devices / sizeof adreno_devices[0] };

#endif
