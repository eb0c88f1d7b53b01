import Foundation
import HoldfastTestKit

/// A server process that supports the commands of `crowd-server`.
struct CrowdServer: Sendable {
  enum Kind: String, CaseIterable {
    case holdfast, least, python, node

    var title: String {
      switch self {
      case .holdfast: "holdfast"
      case .least: "the least: system calls in C"
      case .python: "Python websockets"
      case .node: "Node ws"
      }
    }

    /// Whether the server supports pings and deflate. Only the minimal server supports neither.
    var isWhole: Bool { self != .least }
  }

  /// The transport that the server uses.
  enum Mode: Equatable {
    case plain
    case deflate
    case tls(Certificate)
  }

  let process: LabProcess
  let port: UInt16

  var usage: ProcessUsage { ProcessUsage(process: process.identifier) }

  /// Starts a server that pings every second or never.
  static func start(_ kind: Kind, _ mode: Mode, pings: Bool = false) async throws -> CrowdServer {
    let (peer, pinging, serving): (Peer, [String], (Certificate) -> [String])
    switch kind {
    case .holdfast:
      (peer, pinging) = (.ours("crowd-server"), ["--ping-interval", "1s"])
      serving = { ["--tls-cert", $0.chain, "--tls-key", $0.key] }
    case .least:
      (peer, pinging) = (Peer([Peer.loadGenerator, "--serve"]), [])
      serving = { [$0.chain, $0.key] }
    case .python:
      (peer, pinging) = (try .pinned("crowd_server.py"), ["--ping", "1"])
      serving = { ["--tls", $0.chain, $0.key] }
    case .node:
      (peer, pinging) = (try .node("crowd_server.js"), ["--ping", "1"])
      serving = { ["--tls", $0.chain, $0.key] }
    }
    let arguments: [String] =
      switch mode {
      case .plain: []
      case .deflate: ["--deflate"]
      case .tls(let certificate): serving(certificate)
      }
    let process = try peer.start(arguments + (pings ? pinging : []))
    for await line in process.lines {
      guard let port = UInt16(line) else { break }
      return CrowdServer(process: process, port: port)
    }
    throw Unavailable(await process.diagnostics.reduce("\(kind.title) did not start") { $1 })
  }

  func end() async {
    process.signal(SIGKILL)
    _ = await process.exit()
  }
}

/// A self-signed certificate for this machine, created with the `openssl` command.
final class Certificate: Sendable, Equatable {
  private let scratch: Scratch

  init() async throws {
    scratch = try Scratch()
    try await Shell.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
      "-days", "2", "-keyout", key, "-out", chain,
    ])
  }

  var chain: String { scratch("certificate.pem") }
  var key: String { scratch("key.pem") }

  static func == (left: Certificate, right: Certificate) -> Bool { left === right }
}
