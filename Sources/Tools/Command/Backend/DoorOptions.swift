import CommandKit
import LinkServerCore

/// The options of `serve` that say who may come in behind a proxy, and from which web pages.
enum DoorOptions {
  static let host = Parameter.repeated(
    "allow-host", .host,
    "also take assistants who call it by this name, that of a proxy in front; then, and while it "
      + "listens on a loopback address, it takes no foreign one")
  static let origin = Parameter.repeated(
    "allow-origin", .origin,
    "also take assistants and phones that are web pages of this origin; those of this machine are "
      + "taken anyway")

  /// What the options say together.
  static func read(_ call: Invocation) -> WebDoors {
    var doors = WebDoors()
    doors.hosts = call[host]
    doors.origins = call[origin]
    return doors
  }
}

extension Format<String> {
  /// A value of the Host field (RFC 9110 section 7.2).
  fileprivate static let host = Format(
    placeholder: "HOST", expectation: "a name, with its port where that is not the usual one"
  ) {
    isAuthority($0) ? WebDoors.withoutUsualPort($0.lowercased()) : nil
  } write: {
    $0
  }

  /// A value of the Origin field that names somebody (RFC 6454 section 7).
  fileprivate static let origin = Format(
    placeholder: "ORIGIN", expectation: "a scheme and a host, such as https://app.example"
  ) { text in
    let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, ["http", "https"].contains(parts[0].lowercased()) else { return nil }
    guard isAuthority(parts[1]) else { return nil }
    let (origin, usual) = (text.lowercased(), parts[0].lowercased() == "https" ? ":443" : ":80")
    // No browser says the port that the scheme says (RFC 6454 section 6.2).
    return origin.hasSuffix(usual) ? String(origin.dropLast(usual.count)) : origin
  } write: {
    $0
  }

  private static func isAuthority(_ text: some StringProtocol) -> Bool {
    let isPlain = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
        UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
        true
      case _: false
      }
    }
    return isPlain && !text.isEmpty
  }
}
