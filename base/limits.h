#ifndef KS_BASE_LIMITS_H
#define KS_BASE_LIMITS_H

/* Named limits for everything that comes from outside.  Past a limit the reader of the input fails with KS_ERR_LIMIT
 * and names the limit; nothing is truncated silently. */

#define KS_MAX_SOURCE_BYTES       (8u << 20)   /* one .cu as the user wrote it */
#define KS_MAX_PTX_BYTES          (64u << 20)  /* PTX text of one module */
#define KS_MAX_JSON_BYTES         (64u << 20)  /* one JSON document */
#define KS_MAX_CAPTURE_BYTES      (16u << 20)  /* stdout or stderr kept of a child process */
#define KS_MAX_ARGV_BYTES         (4u << 20)   /* options files and NVCC_*_FLAGS, expanded */
#define KS_MAX_OPTFILE_DEPTH      32           /* nesting of --options-file */
#define KS_MAX_DIMS               16           /* dims of a contract */
#define KS_MAX_RANK               8            /* rank of a contract array */
#define KS_MAX_DEVICES            64           /* that one search uses at once */
#define KS_MAX_PARAMS             64           /* parameters of an entry or kernel */
#define KS_MAX_TIME_POINTS        64           /* timing points of a contract */
#define KS_MAX_BUFFER_BYTES       (1ull << 38) /* one contract buffer */
#define KS_MAX_QUESTION_CHARS     200          /* text of one question of the bank */
#define KS_MAX_OWN_QUESTION_BYTES 1000         /* of one that an agent or a person asks */
#define KS_MAX_PATH_BYTES         4096
#define KS_MAX_REGEX_MATCHES      1000000u /* PCRE2 match limit */

#endif
