import CHoldfastCurl
import HoldfastCore
import HoldfastPorts

/// A libcurl multi handle with its next deadline. A poller watches its descriptors.
@safe final class Transfers {
  private let multi: UnsafeMutableRawPointer
  private let poller: Poller
  /// The numbers of the transfers in progress, by `Easy.key`.
  private var numbers: [UInt: UInt64] = [:]
  /// The transfers with a descriptor that the system refused to watch. They would otherwise wait
  /// forever.
  private var unwatched: [UInt] = []
  private(set) var deadline: Instant?

  init?(_ poller: Poller) {
    guard Library.isReady, let multi = unsafe curl_multi_init() else { return nil }
    unsafe self.multi = multi
    self.poller = poller
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe ccurl_multi_watch(
      multi,
      { easy, descriptor, what, context, _ in
        guard let context = unsafe context else { return 0 }
        unsafe Unmanaged<Transfers>.fromOpaque(context).takeUnretainedValue()
          .watch(descriptor, what, for: UInt(bitPattern: easy))
        return 0
      },
      { _, milliseconds, context in
        guard let context = unsafe context else { return 0 }
        unsafe Unmanaged<Transfers>.fromOpaque(context).takeUnretainedValue()
          .wake(afterMilliseconds: milliseconds)
        return 0
      }, context)
  }

  deinit {
    unsafe curl_multi_cleanup(multi)
  }

  /// The number of transfers that were added and not removed.
  var count: Int { numbers.count }

  func add(_ easy: Easy, as number: UInt64) -> Bool {
    guard unsafe curl_multi_add_handle(multi, easy.handle) == CURLM_OK else { return false }
    numbers[easy.key] = number
    return true
  }

  /// Ends the transfer and closes its connected stream.
  func remove(_ easy: Easy) {
    guard numbers.removeValue(forKey: easy.key) != nil else { return }
    unsafe curl_multi_remove_handle(multi, easy.handle)
  }

  func act(on descriptor: Int32, _ readiness: Readiness) {
    var running: Int32 = 0
    unsafe curl_multi_socket_action(multi, descriptor, readiness.curl, &running)
  }

  /// Makes libcurl do the work that is due at `deadline`.
  func tick() {
    deadline = nil
    var running: Int32 = 0
    unsafe curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
  }

  /// Returns the next completed transfer.
  func nextDone() -> (number: UInt64, result: CURLcode)? {
    while let easy = unwatched.popLast() {
      if let number = numbers[easy] { return (number, CURLE_ABORTED_BY_CALLBACK) }
    }
    var easy: UnsafeMutableRawPointer?
    var result = CURLE_OK
    while unsafe ccurl_next_done(multi, &easy, &result) != 0 {
      if let number = numbers[UInt(bitPattern: easy)] { return (number, result) }
    }
    return nil
  }

  private func watch(_ descriptor: Int32, _ what: Int32, for easy: UInt) {
    if let readiness = Readiness(curl: what) {
      guard !poller.watch(descriptor, readiness, for: .transfers(self)) else { return }
      unwatched.append(easy)
    } else {
      poller.forget(descriptor)
    }
  }

  private func wake(afterMilliseconds milliseconds: Int) {
    deadline = milliseconds < 0 ? nil : BootClock().now.advanced(by: .milliseconds(milliseconds))
  }
}

/// A set of operations that a descriptor is watched for, or is ready for.
struct Readiness: OptionSet {
  var rawValue: UInt8
  static let read = Readiness(rawValue: 1)
  static let write = Readiness(rawValue: 2)

  init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Creates the value of a `CURL_POLL_…` constant; `nil` if the descriptor should no longer be
  /// watched.
  init?(curl what: Int32) {
    switch what {
    case CURL_POLL_IN: self = .read
    case CURL_POLL_OUT: self = .write
    case CURL_POLL_INOUT: self = [.read, .write]
    case _: return nil
    }
  }

  var curl: Int32 {
    (contains(.read) ? CURL_CSELECT_IN : 0) | (contains(.write) ? CURL_CSELECT_OUT : 0)
  }
}
