import Foundation
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Journals that running commands write.
enum RecordedLinks {
  /// Returns the paths of the journals of a stream with two runs, and of a socket.
  static func journals(in directory: String) async throws -> [String] {
    let stream = directory + "/stream.journal"
    try await streams(stream)
    let socket = directory + "/socket.journal"
    try await self.socket(socket)
    return [stream + ".old1", stream, socket]
  }

  /// Records a run that ends in an orderly way, and one whose server dies.
  static func streams(_ journal: String) async throws {
    try await CommandShop.run { shop in
      let first = try await shop.stream("--journal", journal)
      await first.live()
      try await shop.post("<b>one</b></script>")
      #expect(await first.line(with: "message", "one") != "")
      #expect(await first.end().status == 0)
      try await shop.post("two")
      let second = try await shop.stream("--journal", journal)
      await second.live()
      for text in ["three", "four", "five"] {
        try await shop.post(text)
        #expect(await second.line(with: "message", text) != "")
      }
      await shop.kill()
      #expect(await second.line(with: #""status":"RECONNECTING""#) != "")
      _ = await second.end()
    }
  }

  /// Records a socket whose server closes it with several codes and refuses it.
  static func socket(_ journal: String) async throws {
    let codes: [UInt16] = [1001, 1011, 1012]
    let closing = codes.map { PlanEntry(expect: 1, send: [.text("a"), .text("b")], close: $0) }
    let plan = closing + [.refuse(503), PlanEntry(expect: 1, send: [.text("end")])]
    try await PeerServer.run(.holdfast, plan) { server in
      let run = try SocketRun(server.url, ["--hello", "HI", "--journal", journal])
      #expect(try await run.texts(7) == codes.flatMap { _ in ["a", "b"] } + ["end"])
      #expect(await run.interrupt() == 0)
    }
  }
}
