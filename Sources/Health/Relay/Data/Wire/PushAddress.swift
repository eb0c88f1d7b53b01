import HoldfastCore
import HoldfastJSON
public import HoldfastMessageData

/// The address for wake pushes to a phone in the background. It is registered with `POST
/// /relay/push`.
///
/// Anyone who has the address can send wake pushes. It is therefore treated as a secret and never
/// appears in a log or an error.
public enum PushAddress: Sendable, Hashable, Codable {
  /// Apple's push service.
  case apns(APNsAddress)
  /// An address for the backend's hook program: 1 to 1,024 bytes without control characters.
  case hook(String)

  /// The maximum size of a hook address, in bytes. The limit is Holdfast's own. A Web Push endpoint
  /// fits.
  public static let maxHookBytes = 1_024
}

/// A device of Apple's push service. The app on the device registers it.
public struct APNsAddress: Sendable, Hashable, Codable {
  /// The service that issued the token.
  public enum Environment: String, Sendable, Hashable, Codable, CaseIterable {
    case production, sandbox
  }

  /// The token: an even number of lower-case hexadecimal digits, from 2 to 200. Apple does not
  /// specify the length, and the limit is Holdfast's own.
  public var token: String
  /// The app's bundle id: 1 to 255 bytes of letters, digits, dots and hyphens. `nil` selects the
  /// bundle id that the backend is configured with.
  public var topic: String?
  /// The service that receives the push.
  public var environment: Environment

  /// Creates an address. Returns `nil` if the token or the topic is invalid.
  public init?(token: String, topic: String? = nil, environment: Environment = .production) {
    let token = token.lowercased()
    guard (2...200).contains(token.utf8.count), token.utf8.count.isMultiple(of: 2),
      token.utf8.allSatisfy({ Hex.value(of: $0) != nil })
    else { return nil }
    if let topic {
      guard (1...255).contains(topic.utf8.count), topic.utf8.allSatisfy(Self.isOfBundleID) else {
        return nil
      }
    }
    (self.token, self.topic, self.environment) = (token, topic, environment)
  }

  private static func isOfBundleID(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
      true
    case _: false
    }
  }
}

extension PushAddress {
  /// Returns the body of `POST /relay/push`. It contains `kind` and `address` and, for Apple,
  /// `environment` and `topic`.
  public func encode() -> [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.key("kind")
    switch self {
    case .apns(let apns):
      writer.string("apns")
      writer.entry("address", apns.token)
      writer.entry("environment", apns.environment.rawValue)
      if let topic = apns.topic {
        writer.entry("topic", topic)
      }
    case .hook(let text):
      writer.string("hook")
      writer.entry("address", text)
    }
    writer.endObject()
    return writer.bytes
  }

  /// Reads the body. Unknown members are ignored. If a member is repeated, the last one is used.
  ///
  /// A thrown error contains no part of the address.
  public static func decode(_ body: [UInt8]) throws(MessageError) -> PushAddress {
    let found = try JSONReader.read(body) { (reader) throws(JSONError) in
      var found: [String: String] = [:]
      try reader.beginObject()
      while let key = try reader.nextKey() {
        let name = reader.text(of: key)
        let text = try reader.peek() == .string ? reader.string() : nil
        if text == nil { try reader.skipValue() }
        if members.contains(name) { found[name] = text }
      }
      return found
    }
    guard let kind = found["kind"] else { throw .missing(field: "kind") }
    guard let address = found["address"] else { throw .missing(field: "address") }
    switch kind {
    case "apns":
      return .apns(try apns(address, found["topic"], found["environment"]))
    case "hook":
      guard isPrintable(address) else { throw .badIdentifier(field: "address") }
      return .hook(address)
    case _: throw .malformed(detail: "kind is neither apns nor hook")
    }
  }

  private static let members = ["kind", "address", "topic", "environment"]

  private static func apns(
    _ token: String, _ topic: String?, _ environment: String?
  ) throws(MessageError) -> APNsAddress {
    let service = environment.map(APNsAddress.Environment.init) ?? .production
    guard let service else { throw .malformed(detail: "environment is not an Apple push service") }
    guard let address = APNsAddress(token: token, topic: topic, environment: service) else {
      throw .badIdentifier(field: "address")
    }
    return address
  }

  private static func isPrintable(_ text: String) -> Bool {
    (1...maxHookBytes).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }
}

/// The outcome of a push.
public enum PushOutcome: Sendable, Hashable, Codable {
  /// The service accepted the push. It does not report whether the phone wakes.
  case delivered
  /// The address is no longer valid and must be removed.
  case gone
  /// There were too many pushes, or the service is busy. The sender waits for `retryAfter` before
  /// its next push.
  case tooMany(retryAfter: Duration)
  /// The push failed. The cause may be temporary or require intervention. It never contains a
  /// secret.
  case failed(cause: String)
}
