import Glibc
import HoldfastBackend
import HoldfastCommandKit

/// The options of `serve` for operators.
enum AdminOptions {
  static let listen = Parameter.optional(
    "admin-listen", .operatorAddress, usual: "none",
    "take the requests of `holdfast admin` at this Unix socket, which only the user of the server "
      + "can use, or at this numeric address, which needs --admin-token-file and is not encrypted")
  static let tokenFile = Parameter.optional(
    "admin-token-file", .text("FILE"),
    "require the token in this file from operators; created with a random one if missing; its "
      + "mode must be 600")

  static func read(
    _ call: Invocation, into configuration: inout BackendConfiguration
  ) throws(CommandFailure) {
    guard let text = call[listen] else {
      guard call[tokenFile] == nil else {
        throw CommandFailure(
          .usage, "--admin-token-file needs --admin-listen",
          remedy: "add it, such as --admin-listen 127.0.0.1:8789")
      }
      return
    }
    guard let address = try? AdminAddress(text, tokenFile: call[tokenFile]) else {
      // The format of the option refuses what is no address.
      throw CommandFailure(
        .usage, "--admin-listen \(text) needs --admin-token-file",
        remedy: "add it: every user of this machine can connect there; or use unix:PATH")
    }
    configuration.admin = address
    // As if the operator had sent the signal, so that the command ends in the same way.
    configuration.drain = { kill(getpid(), SIGTERM) }
  }
}
