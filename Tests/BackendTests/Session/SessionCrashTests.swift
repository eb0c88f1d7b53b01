import Foundation
import Glibc
import HoldfastSessionData
import HoldfastTestKit
import Testing

/// Tests that kill `holdfast serve` while it answers prompts.
@Suite(.offThePool, .timeLimit(.minutes(60))) struct SessionCrashTests {
  /// A child process that runs `holdfast serve` with sessions.
  private struct Served {
    let process: LabProcess
    let port: UInt16

    init(_ scratch: Scratch, handler: String) async throws {
      process = try CommandProcess.start([
        "serve", "--port", "0", "--json", "--data", scratch("data"), "--session-key-file",
        scratch("key"), "--session-handler", handler,
      ])
      var url: String?
      for await line in process.lines {
        url = try [String: Any].reading(line)["url"] as? String
        break
      }
      port = try #require(url?.split(separator: ":").last.flatMap { UInt16($0) })
    }

    func kill() async {
      process.signal(SIGKILL)
      _ = await process.exit()
    }

    func client() throws -> SessionClient {
      try SessionClient(port: port, key: BackendRig.sessionKey)
    }
  }

  /// Returns a handler that records each prompt in a file and then answers it.
  ///
  /// The handler answers the prompt "wait" once the test closes the pipe.
  private static func handler(_ scratch: Scratch, _ pipe: NamedPipe) -> String {
    """
    read -r text; echo "$text" >> \(scratch("ran"))
    if [ "$text" = wait ]; then read -r go < \(pipe.path); fi
    echo "did $text"
    """
  }

  @Test func `a restarted server reports the interrupted prompt and runs the queued one`()
    async throws
  {
    let scratch = try Scratch()
    let pipe = try NamedPipe(scratch("go"))
    _ = try BackendRig.writeKey(in: scratch)
    let handler = Self.handler(scratch, pipe)
    let first = try await Served(scratch, handler: handler)
    let client = try first.client()
    try client.prompt("wait", key: "k1")
    let end = try pipe.opened()
    try client.prompt("next", key: "k2", isNew: false)
    for _ in 1...2 { try client.next { if case .ack = $0 { () } else { nil } } }
    await first.kill()
    try end.close()

    let second = try await Served(scratch, handler: handler)
    let interrupted = try reports(second)
    #expect(try scratch.text(of: "ran") == "wait\nnext\n")
    let last = try second.client()
    let id = try #require(interrupted.id)
    #expect(try last.response().id == id)
    try last.say(.messageAck(id))
    _ = try last.rest()
    last.leave()
    let rest = try second.client().rest()
    let responses = rest.filter { if case .response = $0 { true } else { false } }
    #expect(responses == [])
    #expect(try scratch.text(of: "ran") == "wait\nnext\n")
    await second.kill()
  }

  /// Reads the responses of a restarted server, sends the interrupted prompt again, and returns the
  /// response to it.
  private func reports(_ second: Served) throws -> SessionResponse {
    let again = try second.client()
    let interrupted = try again.response()
    let id = try #require(interrupted.id)
    #expect(
      interrupted
        == SessionResponse(
          id: id, number: 1, conversation: SessionClient.conversation, idempotencyKey: "k1",
          result: .failure(error: "interrupted")))
    // The text arrives in a response or, if the response precedes the connection, in a replay.
    let text = try again.next { message -> String? in
      if case .replay(_, let entry, _) = message { return entry.text }
      guard case .response(let response) = message, case .success(let text) = response.result
      else { return nil }
      return text
    }
    #expect(text == "did next")
    try again.prompt("wait", key: "k1")
    #expect(try again.response() == interrupted)
    again.leave()
    return interrupted
  }

  @Test func `the handler of a killed server and its child processes end with the server`()
    async throws
  {
    let scratch = try Scratch()
    let (held, go) = (try NamedPipe(scratch("held")), try NamedPipe(scratch("go")))
    let reader = try held.reader()
    defer { close(reader) }
    _ = try BackendRig.writeKey(in: scratch)
    let served = try await Served(
      scratch, handler: "exec 3> \(held.path); sleep 1000 & read -r go < \(go.path); sleep 1000")
    try served.client().prompt("hello", key: "k1")
    // Once the pipe is open, the handler and its background process are running.
    let end = try go.opened()
    await served.kill()
    #expect(NamedPipe.isLeft(reader))
    try end.close()
  }

  @Test func `an unacknowledged response is replayed after a restart`() async throws {
    let scratch = try Scratch()
    _ = try BackendRig.writeKey(in: scratch)
    let first = try await Served(scratch, handler: "cat")
    let client = try first.client()
    try client.prompt("hello", key: "k1")
    let response = try client.response()
    await first.kill()
    let second = try await Served(scratch, handler: "cat")
    let again = try second.client()
    let replay = try again.message()
    guard case .replay(let id, let entry, let number) = replay else {
      return #expect(Bool(false), "\(replay)")
    }
    #expect(id == response.id)
    #expect(number == response.number)
    #expect(entry.text == "hello")
    try again.prompt("hello", key: "k1")
    #expect(try again.response() == response)
    await second.kill()
  }
}
