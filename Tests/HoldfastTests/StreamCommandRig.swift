import Foundation
import Holdfast
import HoldfastBackend
import HoldfastTestKit
import LinkCore
import LinkRuntime
import LinkServerCore
import LinkWire
import Testing

/// A backend in this process and directories for the commands that are run against it.
struct CommandShop {
  static let name = "bakery"

  let backend: Backend
  let url: String
  let shop: ShopID
  /// Everything a command writes goes below it.
  let directory: String
  let log: LineReader
  private let network: any SocketDialer & HTTPClient

  /// Runs `body` against a backend that is killed behind it.
  static func run(
    certificate: BackendConfiguration.Certificate? = nil,
    _ body: (CommandShop) async throws -> Void
  ) async throws {
    try await CommandProcess.scratch { directory in
      var configuration = BackendConfiguration(dataDirectory: directory + "/server")
      configuration.certificate = certificate
      configuration.policy.postInterval = .milliseconds(1)
      configuration.policy.postBurst = 10_000
      let (lines, sink) = AsyncStream.makeStream(of: String.self)
      configuration.log = { sink.yield($0) }
      let backend = Backend(configuration)
      let address = try await backend.start()
      let shop = try CommandShop(
        backend: backend, url: address.url, shop: #require(ShopID(name)),
        directory: directory + "/client", log: LineReader(lines),
        network: Platform.network())
      do {
        try await body(shop)
      } catch {
        await backend.kill()
        throw error
      }
      await backend.kill()
    }
  }

  /// A user's token; one that was good once when `ttl` is negative.
  func token(
    _ user: String = "ann", shops: [String] = [name], ttl: Duration = .seconds(3_600)
  ) async throws -> String {
    try await backend.issueToken(
      user: user, name: user.uppercased(), shops: shops.compactMap { ShopID($0) }, ttl: ttl)
  }

  /// Another user posts.
  @discardableResult
  func post(_ text: String) async throws -> Message {
    let response = try await network.send(
      HTTPCall(
        method: "POST", url: url + ShopRoute.send.path,
        headers: [
          ("Authorization", "Bearer \(try await token("writer"))"),
          ("Content-Type", "application/json"),
        ],
        body: NewMessage(shop: shop, text: text).encode(), timeout: .seconds(60),
        maxBodyBytes: 65_536))
    #expect(response.status == 201)
    return try Envelope.decodeMessage(response.body, shop: shop)
  }

  func post(_ texts: [String]) async throws {
    for text in texts { try await post(text) }
  }

  /// The server is gone, without a word.
  func kill() async { await backend.kill() }

  /// The words of a command that talks to this shop.
  func words(_ command: String, _ more: [String], shop: String = name) -> [String] {
    [command, "--server", url, "--shop", shop] + more
  }

  /// Starts `stream --json` with a data directory and a good token.
  func stream(_ more: String..., user: String = "ann") async throws -> CommandEvents {
    let words = words("stream", ["--json", "--data", directory] + more)
    return CommandEvents(
      try CommandProcess.start(words, environment: ["HOLDFAST_TOKEN": try await token(user)]))
  }

  /// The same through a proxy on this port.
  func stream(through port: UInt16) async throws -> CommandEvents {
    let words = [
      "stream", "--server", "http://127.0.0.1:\(port)", "--shop", Self.name, "--data", directory,
      "--json",
    ]
    return CommandEvents(
      try CommandProcess.start(words, environment: ["HOLDFAST_TOKEN": try await token()]))
  }

  /// Where the backend listens.
  var port: UInt16 { url.split(separator: ":").last.flatMap { UInt16($0) } ?? 0 }

  /// Waits until the backend logs an event; returns the line.
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

  /// The next line; empty when it ended before.
  func next() async -> String { await output.next() }

  /// The next line that has all these texts in it; empty when it ended before.
  func line(with texts: String...) async -> String {
    while case let line = await output.next(), !line.isEmpty {
      if texts.allSatisfy(line.contains) { return line }
    }
    return ""
  }

  /// Returns once it is connected.
  func live() async {
    #expect(await line(with: #""status":"CONNECTED""#) != "")
  }

  /// All lines that are left, and the exit status.
  func rest() async -> (lines: [String], status: Int32) {
    var lines: [String] = []
    while case let line = await output.next(), !line.isEmpty { lines.append(line) }
    return (lines, await process.exit())
  }

  /// Tells it to end; the lines that were left, and the exit status.
  func end() async -> (lines: [String], status: Int32) {
    process.signal(SIGTERM)
    return await rest()
  }
}

/// A line with what differs from run to run replaced by words.
func normal(_ line: String) -> String {
  // Only the time of an event always has three digits; a server's may happen to.
  line.replacing(/"at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/, with: #""at":"MS""#)
    .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.0-9]*Z/, with: "TIME")
    .replacing(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, with: "LOCAL")
    .replacing(/"position":"[0-9a-f]{16}:\d+"/, with: #""position":"EPOCH:N""#)
    .replacing(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/, with: "ID")
}
