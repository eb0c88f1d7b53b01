import Foundation
import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastPorts
import HoldfastRigs
import HoldfastTestKit
import Testing

/// A backend in this process, and a directory for the commands that run against it.
struct CommandShop {
  static let name = "bakery"

  let backend: Backend
  let url: String
  let shop: ShopID
  /// The directory that contains all files that a command writes.
  let directory: String
  let log: LineReader
  private let network: any SocketDialer & HTTPClient

  /// Runs `body` with a backend, and kills the backend afterwards.
  static func run(
    certificate: BackendConfiguration.Certificate? = nil,
    dialect: ShopServerPolicy.Dialect = .positions,
    _ body: (CommandShop) async throws -> Void
  ) async throws {
    try await CommandProcess.scratch { directory in
      var configuration = BackendConfiguration(dataDirectory: directory + "/server")
      configuration.certificate = certificate
      configuration.policy.postInterval = .milliseconds(1)
      configuration.policy.postBurst = 10_000
      configuration.policy.dialect = dialect
      let (lines, sink) = AsyncStream.makeStream(of: String.self)
      configuration.log = { sink.yield($0) }
      let backend = Backend(configuration)
      let address = try await backend.start()
      let shop = try CommandShop(
        backend: backend, url: address.url, shop: #require(ShopID(name)),
        directory: directory + "/client", log: LineReader(lines),
        network: HoldfastPlatform.network())
      do {
        try await body(shop)
      } catch {
        await backend.kill()
        throw error
      }
      await backend.kill()
    }
  }

  /// Returns a user's token.
  ///
  /// If `ttl` is negative, the token has already expired.
  func token(
    _ user: String = "ann", shops: [String] = [name], ttl: Duration = .seconds(3_600)
  ) async throws -> String {
    try await backend.issueToken(
      user: user, name: user.uppercased(), shops: shops.compactMap { ShopID($0) }, ttl: ttl)
  }

  /// Posts a message as another user.
  @discardableResult
  func post(_ text: String) async throws -> ShopMessage {
    let response = try await network.send(
      HTTPCall(
        method: "POST", url: url + ShopRoute.send.path,
        headers: [
          ("Authorization", "Bearer \(try await token("writer"))"),
          ("Content-Type", "application/json"),
        ],
        body: NewMessage(shop: shop, text: text).encode(), timeout: .seconds(600),
        maxBodyBytes: 65_536))
    #expect(response.status == 201)
    return try Envelope.decodeMessage(response.body, shop: shop)
  }

  func post(_ texts: [String]) async throws {
    for text in texts { try await post(text) }
  }

  /// Kills the server without draining it.
  func kill() async { await backend.kill() }

  /// Returns the arguments of a command for this shop.
  func arguments(_ command: String, _ more: [String], shop: String = name) -> [String] {
    [command, "--server", url, "--shop", shop] + more
  }

  /// Starts `stream --json` with a data directory and a valid token.
  func stream(_ more: String..., user: String = "ann") async throws -> CommandEvents {
    let arguments = arguments("stream", ["--json", "--data", directory] + more)
    return CommandEvents(
      try CommandProcess.start(arguments, environment: ["HOLDFAST_TOKEN": try await token(user)]))
  }

  /// Starts `stream --json` through a proxy on a port.
  func stream(through port: UInt16) async throws -> CommandEvents {
    let arguments = [
      "stream", "--server", "http://127.0.0.1:\(port)", "--shop", Self.name, "--data", directory,
      "--json",
    ]
    return CommandEvents(
      try CommandProcess.start(arguments, environment: ["HOLDFAST_TOKEN": try await token()]))
  }

  /// The port on which the backend listens.
  var port: UInt16 { url.split(separator: ":").last.flatMap { UInt16($0) } ?? 0 }

  /// Returns the next log entry for `event`, or an empty dictionary if the log ends first.
  func logged(_ event: String) async throws -> [String: Any] {
    while case let line = await log.next(), !line.isEmpty {
      let object = try [String: Any].reading(line)
      if object["event"] as? String == event { return object }
    }
    return [:]
  }
}

/// A running command that prints events.
final class CommandEvents: Sendable {
  let process: LabProcess
  private let output: LineReader

  init(_ process: LabProcess) {
    self.process = process
    output = LineReader(process.lines)
  }

  /// Returns the next line, or an empty string if the output has ended.
  func next() async -> String { await output.next() }

  /// Returns the next line that contains all of `texts`, or an empty string if the output ends
  /// first.
  func line(with texts: String...) async -> String {
    while case let line = await output.next(), !line.isEmpty {
      if texts.allSatisfy(line.contains) { return line }
    }
    return ""
  }

  /// Waits until the command reports that it is connected.
  func live() async {
    #expect(await line(with: #""status":"CONNECTED""#) != "")
  }

  /// Returns the remaining lines and the exit status.
  func rest() async -> (lines: [String], status: Int32) {
    var lines: [String] = []
    while case let line = await output.next(), !line.isEmpty { lines.append(line) }
    return (lines, await process.exit())
  }

  /// Ends the command with SIGTERM. Returns the remaining lines and the exit status.
  func end() async -> (lines: [String], status: Int32) {
    process.signal(SIGTERM)
    return await rest()
  }
}

/// Returns a line in which placeholders replace the times, which differ between runs.
func normal(_ line: String) -> String {
  // The time of an event always has three decimals. A time from the server may have three by
  // chance.
  line.replacing(/"at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/, with: #""at":"MS""#)
    .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.0-9]*Z/, with: "TIME")
    .replacing(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, with: "LOCAL")
    .replacing(/"position":"[0-9a-f]{16}:\d+"/, with: #""position":"EPOCH:N""#)
    .replacing(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/, with: "ID")
}
