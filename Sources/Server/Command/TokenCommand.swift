import Glibc
import HoldfastBackend
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastIdentity
import HoldfastJSON
import HoldfastMessageData
import HoldfastPorts

/// The command `holdfast token`: signs a development token with the secret of a data directory.
package enum TokenCommand {
  private static let user = Parameter.required("user", Format.user, "the user's id")
  private static let shops = Parameter.required(
    "shops", Format.shop.list(), "the shops that it admits to, separated by commas")
  private static let admin = Parameter.optional(
    "admin", Format.shop.list(), usual: "none",
    "those of --shops in which it may delete the messages of others")
  private static let name = Parameter.optional(
    "name", Format.user, usual: "the user's id", "the user's name as others see it")
  /// The validity of the token. The minimum is 1 s, because `exp` counts whole seconds. A year is
  /// ample for development.
  private static let ttl = Parameter.option(
    "ttl", .duration(.seconds(1) ... .seconds(366 * 86_400), inWholeSeconds: true),
    default: .seconds(3600),
    "how long it is valid, in whole seconds")
  private static let create = Parameter.flag(
    "create", "create the data directory and its secret if they are missing")

  package static var command: Command {
    Command(
      "token", "create a development token for a backend",
      details: [
        """
        Prints a JWT (HS256) signed with the secret that `serve` creates in its data directory. \
        Everyone who can read that directory can create tokens, so use this for development only.
        """
      ],
      examples: [
        .init("holdfast token --user ann --shops bakery,cellar", "a token for one hour"),
        .init(
          "export HOLDFAST_TOKEN=$(holdfast token --user ann --shops bakery --ttl 15m)",
          "a token for this shell, for 15 minutes"),
      ],
      takes: user, shops, admin, name, ttl, create, Shared.data, Shared.json, action: run)
  }

  private static func run(_ call: Invocation) throws(CommandFailure) {
    let claims = Claims(
      user: call[user], name: call[name] ?? call[user], shops: call[shops],
      admin: call[admin] ?? [], expiresAt: BootClock().wall.advanced(by: call[ttl]))
    if let other = claims.admin.first(where: { !claims.shops.contains($0) }) {
      throw CommandFailure(
        .usage, "--admin names \(other), which --shops does not",
        remedy: "an admin must be a member: add the shop to --shops")
    }
    let tokens = try tokens(call)
    let token = tokens.issue(
      user: claims.user, name: claims.name, shops: claims.shops, admin: claims.admin,
      until: claims.expiresAt)
    guard token.utf8.count <= CompactToken.maxBytes else {
      throw CommandFailure(
        .usage, "the token would be longer than \(CompactToken.maxBytes) bytes",
        remedy: "use fewer --shops")
    }
    guard call[Shared.json] else {
      call.console.line(token)
      // This line is only for people. Scripts that read standard error do not receive it.
      if isatty(STDERR_FILENO) == 1 {
        call.diagnostic("the token is valid for \(call[ttl].text); --ttl changes that")
      }
      return
    }
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
        .failed, "\(directory) is not the data directory of a backend",
        remedy: "run `holdfast serve` with it first, or add --create")
    }
    return found
  }

  private static func show(_ token: String, of claims: Claims, on console: Console) {
    console.object {
      $0.entry("token", token)
      $0.entry("user", claims.user)
      $0.entry("name", claims.name)
      $0.entry("shops", claims.shops.map(\.text))
      if !claims.admin.isEmpty { $0.entry("admin", claims.admin.map(\.text)) }
      // The time is rounded down to whole seconds, as in the token.
      let seconds = claims.expiresAt.nanoseconds / 1_000_000_000
      let end = Timestamp(nanoseconds: seconds * 1_000_000_000)
      $0.entry("expiresAt", RFC3339.format(end))
    }
  }
}

extension Format<String> {
  /// The format for a user's ID or name: one line of at most 256 bytes, which is what servers
  /// accept.
  fileprivate static let user = Format(
    placeholder: "USER", expectation: "a text of 1 to 256 bytes without control characters"
  ) {
    (1...256).contains($0.utf8.count) && $0.unicodeScalars.allSatisfy(isShown) ? $0 : nil
  }

  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    ![.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
  }
}
