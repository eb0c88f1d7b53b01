import Foundation
import HoldfastCore
import HoldfastKeyedHashing
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastPorts
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastBackend

/// Tests of sockets and posts that the operator's backend decides about.
@Suite(.timeLimit(.minutes(60))) struct BackendHookTests {
  /// Runs a backend that asks an operator's backend.
  private static func run(
    _ hooks: OperatorBackend, _ configure: (inout BackendConfiguration) -> Void = { _ in },
    _ body: (BackendRig) async throws -> Void
  ) async throws {
    try await BackendRig.run {
      $0.hooks.url = "http://127.0.0.1:1/hook"
      // The time limit is high, so that a slow machine keeps it.
      $0.hooks.policy.timeout = .seconds(3_600)
      $0.hookClient = hooks
      configure(&$0)
    } _: {
      try await body($0)
    }
  }

  private struct NotWritten: Error {}

  private static func write(_ text: String, to path: String, mode: Int = 0o600) throws {
    let isWritten = FileManager.default.createFile(
      atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
    guard isWritten else { throw NotWritten() }
  }

  @Test func `a socket opens once the operator's backend allows it`() async throws {
    let hooks = OperatorBackend { $0.contains(#""user":"ann""#) ? .ok : .denied("banned") }
    try await Self.run(hooks) { rig in
      let follower = try await rig.follower("ann")
      let answer = try await rig.client().follow(token: try await rig.token("bob"))
      #expect(answer.status == 403 && answer.body.contains("banned"))
      let metrics = try await rig.client().ask("GET", "/metrics").body
      #expect(metrics.contains(#"holdfast_requests_total{route="stream",status="403"} 1"#))
      let asked = hooks.bodies
      #expect(asked.count == 2)
      #expect(
        asked[0].contains(#""route":"stream","user":"ann","shop":"bakery","address":"127.0.0.1""#))
      await rig.backend.kill()
      #expect(
        rig.lines.all.contains {
          $0.contains(#""event":"refused""#) && $0.contains(#""outcome":"denied","status":403"#)
        })
      withExtendedLifetime(follower) {}
    }
  }

  @Test func `a post is stored once the operator's backend allows it, with the ID it knows`()
    async throws
  {
    let hooks = OperatorBackend { $0.contains("bad") ? .denied("a bad word") : .ok }
    try await Self.run(hooks) { rig in
      let (client, token) = (try rig.client(), try await rig.token())
      let refused = try await client.post("bad", token: token)
      #expect(refused.status == 403 && refused.body.contains("a bad word"))
      let made = try await client.post("good", token: token)
      #expect(made.status == 201)
      let message = try made.message()
      #expect(hooks.bodies.last?.contains(#""event":"post","id":"\#(message.id)""#) == true)
      #expect(message.position?.offset == 1)
      let edit = #"{"message_id":"\#(message.id)","message":"bad"}"#
      let edited = try await client.ask("PUT", ShopRoute.send.path, token: token, body: edit)
      #expect(edited.status == 403)
      #expect(
        hooks.bodies.last?.contains(#""id":"\#(message.id)","key":null,"edit":true"#) == true)
    }
  }

  @Test(arguments: [
    (HookPolicy.Failure.closed, 503, 503), (.open, 201, 101),
  ])
  func `a failure of the operator's backend refuses or lets pass`(
    policy: HookPolicy.Failure, post: Int, socket: Int
  ) async throws {
    let hooks = OperatorBackend { _ in nil }
    try await Self.run(hooks) {
      $0.hooks.policy.onFailure = policy
    } _: { rig in
      let token = try await rig.token()
      let answer = try await rig.client().post("hello", token: token)
      #expect(answer.status == post)
      #expect((answer.headers["retry-after"] == "2") == (post == 503))
      #expect(try await rig.client().follow(token: token).status == socket)
      await rig.backend.kill()
      // The end of a socket that was open fails too.
      let failures = rig.lines.all.filter {
        $0.contains(#""event":"hook_failed""#) && !$0.contains(#""detail":"disconnect: "#)
      }
      #expect(failures.count == 2 && failures.first?.contains(#""detail":"post: "#) == true)
    }
  }

  @Test func `a request that is not answered in time is a failure`() async throws {
    let hooks = OperatorBackend { _ in .never }
    try await Self.run(hooks) {
      $0.hooks.policy.timeout = .milliseconds(100)
    } _: { rig in
      let answer = try await rig.client().post("hello", token: try await rig.token())
      #expect(answer.status == 503)
      let metrics = try await rig.client().ask("GET", "/metrics").body
      #expect(
        metrics.contains(#"holdfast_hook_requests_total{event="post",result="timed_out"} 1"#))
      #expect(metrics.contains(#"holdfast_hook_seconds_count{event="post"} 1"#))
      hooks.release()
    }
  }

  @Test func `a post that waits does not hold up others, and its author's posts keep their order`()
    async throws
  {
    let hooks = OperatorBackend { $0.contains(#""text":"first""#) ? .never : .ok }
    try await Self.run(hooks) { rig in
      let token = try await rig.token("ann")
      let clients = [try rig.client(), try rig.client()]
      async let first = clients[0].post("first", token: token)
      await hooks.asked { $0.contains(#""text":"first""#) }
      async let second = clients[1].post("second", token: token)
      let other = try await rig.client().post("other", token: try await rig.token("bob"))
      #expect(try other.message().position?.offset == 1)
      hooks.release()
      #expect(try await first.message().position?.offset == 2)
      #expect(try await second.message().position?.offset == 3)
    }
  }

  @Test func `attempts to send a post that waits have one message`() async throws {
    let hooks = OperatorBackend { _ in .never }
    try await Self.run(hooks) { rig in
      let (token, key) = (try await rig.token(), UUID128(high: 1, low: 2))
      let clients = [try rig.client(), try rig.client()]
      async let first = clients[0].post("once", token: token, key: key)
      await hooks.asked { _ in true }
      async let second = clients[1].post("once", token: token, key: key)
      hooks.release()
      let made = [try await first, try await second]
      #expect(Set(made.map(\.status)).isSubset(of: [200, 201]))
      #expect(try made[0].message() == made[1].message())
    }
  }

  @Test func `the end of a socket is told, and nothing waits for it`() async throws {
    let hooks = OperatorBackend { _ in .ok }
    try await Self.run(hooks) {
      $0.hooks.policy.events = [.disconnect]
    } _: { rig in
      let follower = try await rig.follower("ann")
      #expect(try await rig.client().post("x", token: try await rig.token()).status == 201)
      #expect(hooks.bodies == [])
      await follower.leave()
      await hooks.asked { $0.contains(#""event":"disconnect""#) }
      #expect(
        hooks.bodies[0].contains(
          #""route":"stream","user":"ann","shop":"bakery","address":"127.0.0.1","code":1006,"ms":"#)
      )
    }
  }

  @Test func `all reports about ended sockets are sent before the backend has ended`() async throws
  {
    let hooks = OperatorBackend { _ in .never }
    try await Self.run(hooks) {
      $0.hooks.policy.events = [.disconnect]
      $0.reportLimit = .seconds(3_600)
    } _: { rig in
      for number in 0..<20 { await (try await rig.follower("user-\(number)")).leave() }
      await hooks.asked { $0.contains(#""event":"disconnect""#) }
      async let end: Void = rig.backend.drainAndStop()
      hooks.release()
      await end
      // 16 are sent at once.
      #expect(hooks.bodies.count == 20)
    }
  }

  @Test func `a backend that takes no reports does not hold up the end for long`() async throws {
    let hooks = OperatorBackend { _ in .never }
    try await Self.run(hooks) {
      $0.hooks.policy.events = [.disconnect]
    } _: { rig in
      await (try await rig.follower("ann")).leave()
      await hooks.asked { $0.contains(#""event":"disconnect""#) }
      await rig.backend.drainAndStop()
      #expect(hooks.bodies.count == 1)
      hooks.release()
    }
  }

  @Test func `phones and sessions are asked about when they connect`() async throws {
    let hooks = OperatorBackend { _ in .denied("closed today") }
    try await Self.run(hooks) { rig in
      for (path, route) in [("/ws/phone", "phone"), ("/session", "session")] {
        let answer = try await rig.client().upgrade(path)
        #expect(answer.status == 403 && answer.body.contains("closed today"))
        #expect(hooks.bodies.last?.contains(#""route":"\#(route)","user":null"#) == true)
      }
    }
  }

  @Test func `who has no valid token is refused without a question`() async throws {
    let hooks = OperatorBackend { _ in .ok }
    try await Self.run(hooks) { rig in
      #expect(try await rig.client().follow(token: "bad").status == 401)
      #expect(try await rig.client().post("x", token: "bad").status == 401)
      let foreign = try await rig.token(shops: [BackendRig.other])
      #expect(try await rig.client().follow(token: foreign).status == 403)
      #expect(hooks.bodies == [])
    }
  }

  @Test func `a drain refuses what waits`() async throws {
    let hooks = OperatorBackend { _ in .never }
    try await Self.run(hooks) { rig in
      let (client, token) = (try rig.client(), try await rig.token())
      async let waiting = client.post("hello", token: token)
      await hooks.asked { _ in true }
      await rig.backend.drainAndStop()
      #expect(try await waiting.status == 503)
      hooks.release()
    }
  }

  @Test func `requests are signed with the secret`() async throws {
    let scratch = try Scratch()
    let secret = String(repeating: "s", count: 32)
    try Self.write(secret + "\n", to: scratch("secret"))
    let hooks = OperatorBackend { _ in .ok }
    try await Self.run(hooks) {
      $0.hooks.secretFile = scratch("secret")
    } _: { rig in
      #expect(try await rig.client().post("x", token: try await rig.token()).status == 201)
      let call = try #require(hooks.calls.first)
      #expect(call.method == "POST" && call.url == "http://127.0.0.1:1/hook")
      let field = try #require(call.headers.first { $0.name == "Holdfast-Signature" }?.value)
      let parts = try #require(field.wholeMatch(of: /t=([0-9]+),v1=([0-9a-f]{64})/))
      let hash = KeyedHash.sha256(
        key: Array(secret.utf8), over: Array("\(parts.1).".utf8) + call.body)
      #expect(String(parts.2) == Hex.text(of: hash))
    }
  }

  @Test(arguments: [(31, false), (32, true), (33, true)])
  func `a secret has at least 32 bytes`(length: Int, isUsed: Bool) throws {
    let scratch = try Scratch()
    try Self.write(String(repeating: "s", count: length) + "\r\n", to: scratch("secret"))
    var hooks = HookConfiguration()
    hooks.url = "https://hooks.example"
    hooks.secretFile = scratch("secret")
    let client = OperatorBackend { _ in nil }
    if isUsed {
      #expect(try hooks.open(client)?.key?.count == length)
    } else {
      #expect(throws: BackendError.self) { try hooks.open(client) }
    }
  }

  @Test func `a secret that others can read, or that is missing, is refused`() throws {
    let scratch = try Scratch()
    try Self.write(String(repeating: "s", count: 32), to: scratch("secret"), mode: 0o644)
    var hooks = HookConfiguration()
    (hooks.url, hooks.secretFile) = ("https://hooks.example", scratch("secret"))
    let client = OperatorBackend { _ in nil }
    #expect(throws: BackendError.openToOthers(path: scratch("secret"))) { try hooks.open(client) }
    hooks.secretFile = scratch("none")
    #expect(throws: BackendError.self) { try hooks.open(client) }
  }
}

/// An operator's backend without a network.
final class OperatorBackend: HTTPClient {
  enum Reply: Sendable {
    case answer(HTTPAnswer)
    /// An answer of status 204 after `release`.
    case never

    static let ok = Reply.answer(HTTPAnswer(status: 204, headers: [:], body: []))

    static func denied(_ reason: String) -> Reply {
      let body = #"{"allow":false,"reason":"\#(reason)"}"#
      return .answer(HTTPAnswer(status: 200, headers: [:], body: Array(body.utf8)))
    }
  }

  private struct State {
    var calls: [HTTPCall] = []
    var isReleased = false
    var waiting: [CheckedContinuation<Void, Never>] = []
    /// What waits for a request with a certain body.
    var watchers: [(matches: @Sendable (String) -> Bool, CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())
  private let reply: @Sendable (String) -> Reply?

  /// Creates a backend. `reply` returns the reply to a body; `nil` for a connection that is refused.
  init(_ reply: @escaping @Sendable (String) -> Reply?) {
    self.reply = reply
  }

  /// The requests so far.
  var calls: [HTTPCall] { state.withLock(\.calls) }
  /// The bodies of the requests so far.
  var bodies: [String] { calls.map { Self.text($0) } }

  private static func text(_ call: HTTPCall) -> String {
    String(decoding: call.body, as: UTF8.self)
  }

  /// Waits for a request with a certain body.
  func asked(_ matches: @escaping @Sendable (String) -> Bool) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        guard !state.calls.contains(where: { matches(Self.text($0)) }) else { return true }
        state.watchers.append((matches, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// Answers the requests that wait.
  func release() {
    let waiting = state.withLock { state in
      state.isReleased = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for each in waiting { each.resume() }
  }

  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer {
    let text = Self.text(request)
    let told = state.withLock { state in
      state.calls.append(request)
      return state.watchers.takeAll { $0.matches(text) }
    }
    for each in told { each.1.resume() }
    switch reply(text) {
    case nil: throw .refused
    case .answer(let answer): return answer
    case .never:
      await withCheckedContinuation { continuation in
        let isReleased = state.withLock { state in
          if !state.isReleased { state.waiting.append(continuation) }
          return state.isReleased
        }
        if isReleased { continuation.resume() }
      }
      return HTTPAnswer(status: 204, headers: [:], body: [])
    }
  }

  func forgetConnections() async {}
}
