/*
 * OpenCV's DNN module, for comparison only. bench/detect/opencv_dnn.cpp is built where OpenCV is
 * installed; elsewhere these functions are NULL.
 */
#ifndef OPENCV_DNN_H
#define OPENCV_DNN_H

#ifdef __cplusplus
extern "C" {
#endif

/* A Darknet network, or NULL with the reason on stderr. */
void *opencv_dnn_load(const char *cfg, const char *weights) __attribute__((weak));

/* A forward pass of one image, c x h x w. */
void opencv_dnn_forward(void *net, const float *image, int c, int h, int w, int threads)
    __attribute__((weak));

/* After a forward pass: computes `layer` (an OpenCV name) alone and copies up to n of its values.
   Returns how many it has, 0 when there is no such layer. */
int opencv_dnn_output(void *net, const char *layer, float *values, int n)
    __attribute__((weak));

void opencv_dnn_free(void *net) __attribute__((weak));
const char *opencv_dnn_version(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
