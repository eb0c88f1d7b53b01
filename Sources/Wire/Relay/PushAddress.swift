import LinkCore
import LinkJSON

/// Where a phone in background is woken: what `POST /relay/push` registers.
///
/// Whoever knows it can ring there, so it is kept like a secret: never in a log or an error.
public enum PushAddress: Sendable, Hashable, Codable {
  /// Apple's push service.
  case apns(APNsAddress)
  /// A word that the backend's hook program understands: 1 to 1,024 bytes, no control characters.
  case hook(String)

  /// Longest word of a hook, in bytes; room for a Web Push endpoint, the bound is ours.
  public static let maxHookBytes = 1_024
}

/// A device of Apple's push service, as the app on it was told.
public struct APNsAddress: Sendable, Hashable, Codable {
  /// Which of the two services gave the token.
  public enum Environment: String, Sendable, Hashable, Codable, CaseIterable {
    case production, sandbox
  }

  /// Lower-case hexadecimal, 2 to 200 digits in pairs; Apple promises no length, the bound is ours.
  public var token: String
  /// The app's bundle id, 1 to 255 bytes of letters, digits, dots and hyphens; `nil` is the
  /// backend's.
  public var topic: String?
  /// Which service is asked.
  public var environment: Environment

  /// An address whose parts are checked; `nil` for a token or topic that cannot be one.
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
  /// The body of `POST /relay/push`: `kind`, `address`, and for Apple `environment`, `topic`.
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
    case .hook(let word):
      writer.string("hook")
      writer.entry("address", word)
    }
    writer.endObject()
    return writer.bytes
  }

  /// Reads the body; unknown members are ignored, of repeated ones the last counts.
  ///
  /// Throws without any part of the address in the error.
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
      guard isWord(address) else { throw .badIdentifier(field: "address") }
      return .hook(address)
    case _: throw .malformed(detail: "kind is neither apns nor hook")
    }
  }

  private static let members = ["kind", "address", "topic", "environment"]

  private static func apns(
    _ token: String, _ topic: String?, _ environment: String?
  ) throws(MessageError) -> APNsAddress {
    let service = environment.map(APNsAddress.Environment.init) ?? .production
    guard let service else { throw .malformed(detail: "environment is no service of Apple's") }
    guard let address = APNsAddress(token: token, topic: topic, environment: service) else {
      throw .badIdentifier(field: "address")
    }
    return address
  }

  private static func isWord(_ text: String) -> Bool {
    (1...maxHookBytes).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }
}

/// What became of a push.
public enum PushOutcome: Sendable, Hashable, Codable {
  /// The service took it; whether the phone wakes is its affair.
  case delivered
  /// The address is no longer valid and must be removed.
  case gone
  /// Too many, or the service is busy: not before this long; the sender keeps to it by itself.
  case tooMany(retryAfter: Duration)
  /// It did not work, for a reason that may pass or needs a person; never holds a secret.
  case failed(cause: String)
}
