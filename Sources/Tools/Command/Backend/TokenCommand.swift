import CommandKit
import HoldfastBackend
import LinkCore
import LinkRuntime
import LinkWire

/// `holdfast token`: signs a development token with the secret of a data directory.
enum TokenCommand {
  private static let user = Parameter.required("user", Format.user, "whom it names")
  private static let shops = Parameter.required(
    "shops", Format.shop.list(), "the shops it opens, with commas between")
  private static let name = Parameter.optional(
    "name", Format.user, usual: "the user", "the name that others read")
  /// The bounds are ours: `exp` counts whole seconds, and no such token need outlive a year.
  private static let ttl = Parameter.option(
    "ttl", .duration(.seconds(1) ... .seconds(366 * 86_400)), default: .seconds(3600),
    "how long it is good for, in whole seconds")
  private static let create = Parameter.flag(
    "create", "make the data directory and its secret when they are missing")

  static var command: Command {
    Command(
      "token", "make a development token for a backend",
      details: [
        """
        Prints a JWT (HS256) signed with the secret that `serve` makes in its data directory. \
        Whoever can read that directory can make tokens: this is for development.
        """
      ],
      examples: [
        .init("holdfast token --user ann --shops bakery,cellar", "a token for one hour"),
        .init(
          "export HOLDFAST_TOKEN=$(holdfast token --user ann --shops bakery --ttl 15m)",
          "one for this shell"),
      ],
      takes: user, shops, name, ttl, create, Shared.data, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    let claims = Claims(
      user: call[user], name: call[name] ?? call[user], shops: call[shops],
      expiresAt: BootClock().wall.advanced(by: call[ttl]))
    let tokens = try tokens(call)
    let token = tokens.issue(
      user: claims.user, name: claims.name, shops: claims.shops, until: claims.expiresAt)
    guard token.utf8.count <= CompactToken.maxBytes else {
      throw CommandFailure(
        .usage, "the token would be longer than \(CompactToken.maxBytes) bytes",
        remedy: "name fewer --shops")
    }
    guard call[Shared.json] else { return call.console.line(token) }
    show(token, of: claims, on: call.console)
  }

  private static func tokens(_ call: Invocation) throws(CommandFailure) -> Tokens {
    let directory = try call.dataDirectory()
    let found: Tokens?
    do {
      found = try call[create] ? Tokens.open(in: directory) : Tokens.find(in: directory)
    } catch {
      throw CommandFailure(error)
    }
    guard let found else {
      throw CommandFailure(
        .failed, "\(directory) holds no data of a backend",
        remedy: "start `holdfast serve` with it first, or add --create")
    }
    return found
  }

  private static func show(_ token: String, of claims: Claims, on console: Console) {
    console.object {
      $0.key("token")
      $0.string(token)
      $0.key("user")
      $0.string(claims.user)
      $0.key("name")
      $0.string(claims.name)
      $0.key("shops")
      $0.beginArray()
      for shop in claims.shops { $0.string(shop.text) }
      $0.endArray()
      $0.key("expiresAt")
      // Whole seconds, rounded down, as in the token.
      let seconds = claims.expiresAt.nanoseconds / 1_000_000_000
      $0.string(RFC3339.format(Timestamp(nanoseconds: seconds * 1_000_000_000)))
    }
  }
}

extension Format<String> {
  /// Who somebody is, in at most 256 bytes, which is what servers take, all of them in one line.
  fileprivate static let user = Format(
    placeholder: "USER", expectation: "a text of 1 to 256 bytes without control characters"
  ) {
    (1...256).contains($0.utf8.count) && $0.unicodeScalars.allSatisfy(isShown) ? $0 : nil
  } write: {
    $0
  }

  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    ![.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
  }
}
