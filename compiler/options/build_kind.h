/* How xlac itself was built. */
#ifndef XLAC_COMPILER_OPTIONS_BUILD_KIND_H
#define XLAC_COMPILER_OPTIONS_BUILD_KIND_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BUILD_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BUILD_HAS_SANITIZER 1
#endif
#endif
#ifndef BUILD_HAS_SANITIZER
#define BUILD_HAS_SANITIZER 0
#endif

/* Debug and sanitizer builds check more and take the time for it. */
#if BUILD_HAS_SANITIZER || !defined(__OPTIMIZE__)
#define BUILD_IS_CHECKED 1
#else
#define BUILD_IS_CHECKED 0
#endif

#endif
