import Glibc
import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastOwnerFiles

/// The command `holdfast image`: downloads an image to which a message refers.
package enum ImageCommand {
  private static let output = Parameter.required(
    "output", .text("FILE"), "where to write the image; - is standard output")
  private static let image = Parameter.operand(
    Format<MessageID>(placeholder: "IMAGE", expectation: "the URL or the id of an image") {
      MessageID($0) ?? ShopImage.id(in: $0)
    }, "the URL that `stream` and `history` show, or the id at its end")

  /// The shop of the connection. The routes of images name none.
  private static let unused = ShopID(UUID128(high: 0, low: 0))

  package static var command: Command {
    Command(
      "image", "download an image of a message",
      details: [
        """
        Only members of the image's shop may see it. The image is requested from --server, \
        whatever host the URL names, since only that server may receive the token. An image is \
        removed with its message. With --json the result is one object: event "image", id, type \
        (jpg, png, gif, webp or heic), bytes, file.
        """,
        """
        An existing FILE is replaced once the image is complete; it stays as it is after a failure \
        and after Ctrl-C. Only its owner can read the new file.
        """,
        Connection.tokenDetails,
      ],
      examples: [
        .init(
          "holdfast image --server https://shop.example --output rye.jpg "
            + "9b2e6f0c-5a0e-4d0b-8f7e-2f4f3f1d6c11",
          "with the token in HOLDFAST_TOKEN")
      ],
      takes: Connection.server, Connection.token, Connection.tokenFile, Connection.tokenCommand,
      StreamConnection.auth, output, Connection.authorities, Connection.plaintext,
      Connection.proxy, Connection.policyFile, Shared.settings, Shared.json, image, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let (path, file) = (call[output], PrivateOutput(call[output], option: "--output"))
    if path != "-" {
      try file.check()
    } else if call[Shared.json] {
      throw CommandFailure(
        .usage, "--output - and --json both need standard output", remedy: "name a file")
    }
    let bytes = try await CommandSignals.cancelling {
      CommandSignals.abandon(call.command)
    } _: { () async throws(CommandFailure) in
      try await fetched(call)
    }
    guard path == "-" else { return try write(bytes, to: file, call) }
    guard SystemCall.writeAll(bytes, to: STDOUT_FILENO) else {
      throw CommandFailure(
        .failed, "standard output cannot be written: \(SystemCall.reason(of: errno))")
    }
  }

  private static func fetched(_ call: Invocation) async throws(CommandFailure) -> [UInt8] {
    let connection = try StreamConnection(call, shop: unused)
    let streams = try await connection.streams(in: HoldfastPlatform.memoryStore())
    let line = TransferLine("downloaded", call)
    let result: Result<[UInt8], LinkFailure>
    do throws(LinkFailure) {
      result = .success(
        try await streams.image(call[image], of: connection.configuration) {
          line.show($0, of: $1)
        })
    } catch {
      result = .failure(error)
    }
    line.end()
    await streams.close()
    guard !Task.isCancelled else {
      throw CommandFailure(.failed, "ended by a signal before the image was complete")
    }
    switch result {
    case .success(let bytes): return bytes
    case .failure(let error): throw await connection.reported(failure(error, call[image]))
    }
  }

  private static func failure(_ failure: LinkFailure, _ id: MessageID) -> CommandFailure {
    switch failure {
    case .http(404, _, _):
      CommandFailure(
        .failed, "the server has no image \(id)",
        remedy: "it may have been deleted with its message; an image has another id than a message")
    case .http(403, _, _):
      CommandFailure(
        .forbidden, "the token's user is not a member of the shop of image \(id)",
        remedy: "ask to be added")
    case _ where ExitCode(failure) == .signInNeeded: .signIn
    case _: CommandFailure(failure)
    }
  }

  private static func write(
    _ bytes: [UInt8], to file: PrivateOutput, _ call: Invocation
  ) throws(CommandFailure) {
    try file.write(bytes)
    let type = ImageType(content: bytes)?.rawValue ?? "unknown"
    guard call[Shared.json] else {
      return call.console.line("\(file.path): \(type), \(bytes.count) bytes")
    }
    JSONEvents(call.console).write("image") {
      $0.entry("id", call[image].description)
      $0.entry("type", type)
      $0.entry("bytes", bytes.count)
      $0.entry("file", file.path)
    }
  }
}
