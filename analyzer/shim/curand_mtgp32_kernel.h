/* Empty on purpose.  clang's CUDA wrapper includes this header of cuRAND before every unit, and a toolkit made of NVIDIA's wheels has no
 * cuRAND.  The folder comes last on libclang's search path, so a toolkit that has the header is read with its own. */
