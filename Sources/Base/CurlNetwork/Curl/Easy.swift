import CHoldfastCurl
import HoldfastCore

/// A libcurl transfer and its error text.
///
/// The transfer is freed when the last reference is released, which must follow its removal from
/// its `Transfers`.
@safe final class Easy {
  let handle: UnsafeMutableRawPointer
  private let text: UnsafeMutablePointer<CChar>
  private var headers: UnsafeMutablePointer<curl_slist>?
  /// The first error from setting an option. A transfer with such an error is never started.
  private(set) var refusal: CURLcode = CURLE_OK

  init?() {
    guard Library.isReady, let handle = unsafe curl_easy_init() else { return nil }
    unsafe self.handle = handle
    unsafe text = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe text.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    unsafe note(ccurl_set_error_buffer(handle, text))
  }

  deinit {
    unsafe curl_easy_cleanup(handle)
    unsafe curl_slist_free_all(headers)
    unsafe text.deallocate()
  }

  /// The handle as an integer, which identifies a handle that libcurl reports.
  var key: UInt { unsafe UInt(bitPattern: handle) }

  func set(_ option: CURLoption, _ value: Int) {
    note(unsafe ccurl_set_long(handle, option, value))
  }

  func set(_ option: CURLoption, _ value: String?) {
    guard let value else { return note(unsafe ccurl_set_text(handle, option, nil)) }
    note(unsafe ccurl_set_text(handle, option, value))
  }

  func set(blob option: CURLoption, _ bytes: [UInt8]) {
    var bytes = bytes
    unsafe bytes.withUnsafeMutableBytes {
      note(unsafe ccurl_set_blob(handle, option, $0.baseAddress, $0.count))
    }
  }

  func set(body: [UInt8]) {
    // An empty array may have no address, and libcurl would then read standard input.
    let terminated = body + [0]
    unsafe terminated.withUnsafeBytes {
      note(unsafe ccurl_set_body(handle, $0.baseAddress, curl_off_t(body.count)))
    }
  }

  func set(openSocket: curl_opensocket_callback) {
    note(unsafe ccurl_set_open_socket(handle, openSocket))
  }

  func set(share: Share) {
    note(unsafe ccurl_set_share(handle, share.handle))
  }

  /// Adds request fields, or replaces libcurl's own. Each line has the form `name: value`.
  func set(headers lines: [String]) {
    for line in lines {
      guard let longer = unsafe curl_slist_append(headers, line) else {
        return note(CURLE_OUT_OF_MEMORY)
      }
      unsafe headers = longer
    }
    note(unsafe ccurl_set_list(handle, CURLOPT_HTTPHEADER, headers))
  }

  func set(
    sinks context: UnsafeMutableRawPointer, header: curl_write_callback, body: curl_write_callback
  ) {
    note(unsafe ccurl_set_sinks(handle, header, body, context))
  }

  private func note(_ result: CURLcode) {
    if refusal == CURLE_OK { refusal = result }
  }
}

extension Easy {
  func long(_ info: CURLINFO) -> Int {
    var value = 0
    return unsafe ccurl_get_long(handle, info, &value) == CURLE_OK ? value : 0
  }

  /// Returns whether a transfer has reached the time that `info` names, which is a `…_TIME_T`.
  /// libcurl returns zero before that time.
  func reached(_ info: CURLINFO) -> Bool { time(info) != nil }

  /// Returns the time that `info` names, which is a `…_TIME_T`, since the transfer began; `nil` if
  /// the transfer has not reached it.
  func time(_ info: CURLINFO) -> Duration? {
    var value: curl_off_t = 0
    guard unsafe ccurl_get_offset(handle, info, &value) == CURLE_OK, value > 0 else { return nil }
    return .microseconds(Int64(value))
  }

  /// Whether a connection to an address succeeded. libcurl sets the address before it counts the
  /// connection as established.
  var hasPeer: Bool {
    guard let address = unsafe ccurl_get_text(handle, CURLINFO_PRIMARY_IP) else { return false }
    return unsafe address.pointee != 0
  }

  /// The descriptor of the connected stream.
  var descriptor: Int32? {
    var value: curl_socket_t = CURL_SOCKET_BAD
    guard unsafe ccurl_get_socket(handle, &value) == CURLE_OK, value != CURL_SOCKET_BAD else {
      return nil
    }
    return value
  }

  /// Returns all information from libcurl about the end of a transfer or of a call on its stream.
  func outcome(_ code: CURLcode, phase: LinkFailure.Phase, host: String) -> Outcome {
    let message = unsafe String(cString: text)
    let name = unsafe String(cString: curl_easy_strerror(code))
    return Outcome(
      code: code, systemError: Int32(truncatingIfNeeded: long(CURLINFO_OS_ERRNO)),
      verification: long(CURLINFO_SSL_VERIFYRESULT),
      tunnelStatus: long(CURLINFO_HTTP_CONNECTCODE), text: message.isEmpty ? name : message,
      phase: phase, host: host)
  }

  /// The result of a call on the connected stream.
  enum Progress {
    case bytes(Int)
    case wouldBlock
    case ended
    case failed(CURLcode)
  }

  func receive(into buffer: Buffer) -> Progress {
    unsafe text.pointee = 0
    var count = 0
    let result = unsafe curl_easy_recv(
      handle, buffer.bytes.baseAddress, buffer.bytes.count, &count)
    if result == CURLE_AGAIN { return .wouldBlock }
    guard result == CURLE_OK else { return .failed(result) }
    return count > 0 ? .bytes(count) : .ended
  }

  func send(_ bytes: ArraySlice<UInt8>) -> Progress {
    unsafe text.pointee = 0
    var count = 0
    let result = unsafe bytes.withUnsafeBytes {
      unsafe curl_easy_send(handle, $0.baseAddress, $0.count, &count)
    }
    if result == CURLE_AGAIN { return .wouldBlock }
    return result == CURLE_OK ? .bytes(count) : .failed(result)
  }
}

/// The single read buffer of a loop. Sockets share it, so an idle socket needs no buffer.
@safe final class Buffer {
  /// The size of four TLS records of 2^14 bytes each (RFC 8446 section 5.1).
  static let size = 65_536
  let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Buffer.size, alignment: 16)

  deinit {
    unsafe bytes.deallocate()
  }
}

enum Library {
  /// Whether libcurl was initialized successfully. It is initialized once per process.
  static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
}

/// The cache of host names and TLS sessions that all transfers of one loop share.
///
/// The share has no locks, because only the loop's thread uses the handles that share it.
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
