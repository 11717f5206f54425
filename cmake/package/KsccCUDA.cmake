# Lets kscc compile the CUDA of a project, where kscc is found; everywhere else the project builds as it is.
#
#   find_package(kscc QUIET)
#   include(KsccCUDA OPTIONAL)           # before project(... CUDA) or enable_language(CUDA)
#   ...
#   if(COMMAND kscc_optimize)
#     kscc_optimize(kernels)             # -O-agent for the CUDA of these targets
#   endif()
#
# KSCC_CUDA, a cache entry: COMPILER  CMAKE_CUDA_COMPILER is kscc, where nobody named another and CUDA is not enabled yet;
#                           LAUNCHER  CMAKE_CUDA_COMPILER_LAUNCHER is kscc, where nobody named another (the default);
#                           OFF       nothing is changed.
# KSCC_CUDA_ACTIVE says afterwards which of them it is.  What was set before, on the command line or by the project, always stays.
#
# kscc_optimize(TARGET... [OPTION VALUE]): VALUE, such as time:600, becomes -O-agent=VALUE.  Without kscc it does nothing.

set(KSCC_CUDA LAUNCHER CACHE STRING "how kscc comes into CUDA builds: COMPILER, LAUNCHER or OFF")
set_property(CACHE KSCC_CUDA PROPERTY STRINGS COMPILER LAUNCHER OFF)
set(KSCC_CUDA_ACTIVE OFF)
get_filename_component(kscc_real "${kscc_EXECUTABLE}" REALPATH)
get_property(kscc_languages GLOBAL PROPERTY ENABLED_LANGUAGES)

if(NOT KSCC_CUDA MATCHES "^(COMPILER|LAUNCHER|OFF)$")
  message(FATAL_ERROR "KSCC_CUDA is '${KSCC_CUDA}': expected COMPILER, LAUNCHER or OFF")
elseif(NOT kscc_EXECUTABLE)
  message(STATUS "kscc: not found, CUDA is compiled as without it")
elseif(KSCC_CUDA STREQUAL "COMPILER")
  if(CMAKE_CUDA_COMPILER)
    get_filename_component(kscc_other "${CMAKE_CUDA_COMPILER}" REALPATH)
    if(kscc_other STREQUAL kscc_real)
      set(KSCC_CUDA_ACTIVE COMPILER)
    else()
      message(STATUS "kscc: CMAKE_CUDA_COMPILER is '${CMAKE_CUDA_COMPILER}' already and stays")
    endif()
  elseif(NOT "$ENV{CUDACXX}" STREQUAL "")
    message(STATUS "kscc: CUDACXX is '$ENV{CUDACXX}' and stays")
  else()
    set(CMAKE_CUDA_COMPILER "${kscc_EXECUTABLE}" CACHE FILEPATH "CUDA compiler")
    set(KSCC_CUDA_ACTIVE COMPILER)
  endif()
elseif(KSCC_CUDA STREQUAL "LAUNCHER")
  if(NOT CMAKE_CUDA_COMPILER_LAUNCHER AND NOT "$ENV{CMAKE_CUDA_COMPILER_LAUNCHER}" STREQUAL "")
    message(STATUS "kscc: CMAKE_CUDA_COMPILER_LAUNCHER is '$ENV{CMAKE_CUDA_COMPILER_LAUNCHER}' in the environment and stays")
  elseif(CMAKE_CUDA_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER STREQUAL kscc_EXECUTABLE)
    message(STATUS "kscc: CMAKE_CUDA_COMPILER_LAUNCHER is '${CMAKE_CUDA_COMPILER_LAUNCHER}' already and stays")
  else()
    # of this folder and those below; targets take it when they are made
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${kscc_EXECUTABLE}")
    set(KSCC_CUDA_ACTIVE LAUNCHER)
  endif()
endif()
if(KSCC_CUDA_ACTIVE)
  message(STATUS "kscc: ${kscc_EXECUTABLE} (${KSCC_CUDA_ACTIVE})")
endif()

function(kscc_optimize)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OPTION" "")
  set(switch -O-agent)
  if(arg_OPTION)
    string(APPEND switch "=${arg_OPTION}")
  endif()
  foreach(target IN LISTS arg_UNPARSED_ARGUMENTS)
    if(NOT TARGET ${target})
      message(FATAL_ERROR "kscc_optimize: '${target}' is no target")
    endif()
    if(KSCC_CUDA_ACTIVE)
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${switch}>")
    endif()
  endforeach()
endfunction()
