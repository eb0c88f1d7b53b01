import CCurl

enum Library {
  /// Whether libcurl set itself up, once per process.
  static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}

/// Names and TLS sessions that all transfers of one loop share.
///
/// It has no locks: only the loop's thread touches the handles that use it.
@safe final class Share {
  let handle: UnsafeMutableRawPointer

  init?() {
    guard Library.isReady, let handle = unsafe curl_share_init() else { return nil }
    unsafe self.handle = handle
    unsafe _ = ccurl_share_add(handle, CURL_LOCK_DATA_DNS)
    unsafe _ = ccurl_share_add(handle, CURL_LOCK_DATA_SSL_SESSION)
  }

  deinit {
    unsafe curl_share_cleanup(handle)
  }
}
