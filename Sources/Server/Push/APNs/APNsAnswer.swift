import HoldfastCore
import HoldfastJSON
import HoldfastPorts

/// The effect of a response from Apple's push service on the address, the token and the next push.
enum APNsAnswer: Equatable {
  case taken
  /// The app is no longer on the device, or the address was never valid.
  case gone
  /// The token is more than an hour old according to the service's clock.
  case tokenExpired
  /// The device has received too many pushes.
  case tooManyForDevice
  /// The service accepts no pushes now. It may have sent a retry-after.
  case busy(retryAfter: Duration?)
  /// The service failed or did not respond.
  case failing(cause: String)
  /// This push or the configuration is invalid. The cause contains the service's reason.
  case refused(cause: String)

  /// Creates the value from the status and `reason`, which Apple lists in "Handling notification
  /// responses from APNs".
  init(_ response: HTTPAnswer) {
    let reason = Self.reason(in: response.body)
    let cause = "APNs answered \(response.status)\(reason.map { " \($0)" } ?? "")"
    switch (response.status, reason) {
    case (200, _): self = .taken
    case (410, _), (400, "BadDeviceToken"): self = .gone
    case (403, "ExpiredProviderToken"): self = .tokenExpired
    case (429, "TooManyProviderTokenUpdates"):
      self = .busy(retryAfter: response.retryAfter ?? ProviderTokens.leastAge)
    case (429, _): self = .tooManyForDevice
    case (503, _): self = .busy(retryAfter: response.retryAfter)
    case (500...599, _): self = .failing(cause: cause)
    case (_, _): self = .refused(cause: cause)
    }
  }

  /// Returns the reason in the body; `nil` unless it is a single word, so that no other text is
  /// logged.
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
