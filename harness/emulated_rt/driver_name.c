/* libcuda.so.1 of the emulated device: programs and dlopen() ask for it by this name, and find the functions in libcudart.so.13,
 * which it needs. */

extern const char kscc_emu_driver_library[];
const char kscc_emu_driver_library[] = "libcudart.so.13";
