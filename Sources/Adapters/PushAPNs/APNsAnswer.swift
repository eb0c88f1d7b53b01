import LinkCore
import LinkJSON
import LinkRuntime

/// What an answer of Apple's push service means for the address, the token and the next push.
enum APNsAnswer: Equatable {
  case taken
  /// The device has the app no more, or never was one.
  case gone
  /// The token is over an hour old by the service's clock.
  case tokenExpired
  /// Too many pushes to this device.
  case tooManyForDevice
  /// The service takes nothing now, and may have said for how long.
  case busy(wish: Duration?)
  /// The service fails, or gave no answer.
  case failing(cause: String)
  /// This push, or the configuration, is wrong; the service's word says how.
  case refused(cause: String)

  /// Reads status and `reason` as Apple's "Handling notification responses from APNs" lists them.
  init(_ response: HTTPAnswer) {
    let reason = Self.reason(in: response.body)
    let cause = "APNs answered \(response.status)\(reason.map { " \($0)" } ?? "")"
    switch (response.status, reason) {
    case (200, _): self = .taken
    case (410, _), (400, "BadDeviceToken"): self = .gone
    case (403, "ExpiredProviderToken"): self = .tokenExpired
    case (429, "TooManyProviderTokenUpdates"):
      self = .busy(wish: response.retryAfter ?? ProviderTokens.leastAge)
    case (429, _): self = .tooManyForDevice
    case (503, _): self = .busy(wish: response.retryAfter)
    case (500...599, _): self = .failing(cause: cause)
    case (_, _): self = .refused(cause: cause)
    }
  }

  /// The one word of the body; `nil` unless it is one, so that nothing else gets into a log.
  private static func reason(in body: [UInt8]) -> String? {
    var reader = JSONReader(body)
    do throws(JSONError) {
      var reason: String?
      try reader.beginObject()
      while let key = try reader.nextKey() {
        if reader.matches(key, "reason"), try reader.peek() == .string {
          reason = try reader.string()
        } else {
          try reader.skipValue()
        }
      }
      guard let reason, (1...64).contains(reason.utf8.count),
        reason.utf8.allSatisfy({ (0x41...0x5A).contains($0 & 0xDF) })
      else { return nil }
      return reason
    } catch {
      return nil
    }
  }
}
