#pragma once
#include <curl/curl.h>

// libcurl's setters and getters are variadic, and Swift cannot call such functions. These functions
// wrap them, one for each type.

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

/// Sets an option to a copy of `count` bytes.
static inline CURLcode ccurl_set_blob(CURL *easy, CURLoption option, void *bytes, size_t count) {
  struct curl_blob blob = {bytes, count, CURL_BLOB_COPY};
  return curl_easy_setopt(easy, option, &blob);
}

/// Sets the request body to a copy of `count` bytes.
static inline CURLcode ccurl_set_body(CURL *easy, const void *bytes, curl_off_t count) {
  CURLcode result = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, count);
  if (result != CURLE_OK) return result;
  return curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, (const char *)bytes);
}

static inline CURLcode ccurl_set_share(CURL *easy, CURLSH *share) {
  return curl_easy_setopt(easy, CURLOPT_SHARE, share);
}

static inline CURLcode ccurl_set_error_buffer(CURL *easy, char *buffer) {
  return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, buffer);
}

static inline CURLcode ccurl_set_sinks(
    CURL *easy, curl_write_callback header, curl_write_callback body, void *context) {
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
  return curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

/// Sets the function that opens sockets. It may refuse an address.
static inline CURLcode ccurl_set_open_socket(CURL *easy, curl_opensocket_callback open) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

/// Returns a string that is valid until the handle is used again; NULL if there is none.
static inline const char *ccurl_get_text(CURL *easy, CURLINFO info) {
  char *text = NULL;
  return curl_easy_getinfo(easy, info, &text) == CURLE_OK ? text : NULL;
}

static inline CURLcode ccurl_get_socket(CURL *easy, curl_socket_t *value) {
  return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, value);
}

static inline void ccurl_multi_watch(
    CURLM *multi, curl_socket_callback sockets, curl_multi_timer_callback timer, void *context) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, sockets);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

static inline CURLSHcode ccurl_share_add(CURLSH *share, curl_lock_data data) {
  return curl_share_setopt(share, CURLSHOPT_SHARE, data);
}

/// Returns the handle and the result of a completed transfer. Returns false if there is none.
static inline int ccurl_next_done(CURLM *multi, CURL **easy, CURLcode *result) {
  int left = 0;
  struct CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    *easy = message->easy_handle;
    *result = message->data.result;
    return 1;
  }
  return 0;
}

/// Returns the directory of authorities that libcurl was built with, or NULL.
static inline const char *ccurl_authority_path(void) {
  return curl_version_info(CURLVERSION_NOW)->capath;
}

/// Returns the file of authorities that libcurl was built with, or NULL.
static inline const char *ccurl_authority_file(void) {
  return curl_version_info(CURLVERSION_NOW)->cainfo;
}
