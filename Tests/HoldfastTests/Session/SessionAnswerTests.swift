import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
import HoldfastSessionData
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastSession

/// Tests of `HeldSession.answer(to:)`.
@Suite(.timeLimit(.minutes(60))) struct SessionAnswerTests {
  private let clock = TestClock()
  private let network: FakeNetwork
  private let store = MemoryClientSessionStore()

  init() {
    network = FakeNetwork(clock: clock)
  }

  private func open(tokens: TokenSource = .fixed("key")) async throws -> HeldSession {
    var configuration = SessionConfiguration(
      "ws://127.0.0.1:1/session", storage: .store(store), tokens: tokens)
    configuration.ports = DevicePorts(
      network: network, reachability: AlwaysReachable(), clock: clock)
    return try await HeldSession(configuration)
  }

  private func nextServer() async throws -> FakeSessionServer {
    await FakeSessionServer(accepting: try await network.nextSocket())
  }

  /// The stored news that the next run would show.
  private var unshown: [NumberedSessionNews] {
    get async throws { try await store.open(as: UUID128(high: 0, low: 1)).unshown }
  }

  @Test func `an answer arrives across a loss, needs no loop, and counts as shown`()
    async throws
  {
    let session = try await open()
    let call = Task { try await session.answer(to: "hello") }
    let first = try await nextServer()
    let prompt = try await first.nextPrompt()
    await first.socket.drop()
    let second = await FakeSessionServer(
      accepting: try await network.nextSocket(advancing: clock))
    let again = try await second.nextPrompt()
    #expect(again.idempotencyKey == prompt.idempotencyKey)
    await second.answer(again, .success(text: "hi"))
    #expect(try await call.value.text == "hi")
    await session.close()
    #expect(try await unshown == [])
  }

  @Test func `a loop that runs at the same time also receives the answer, with the key`()
    async throws
  {
    let session = try await open()
    let loop = Task {
      var answers: [String?] = []
      for await update in session {
        if case .message(let entry, _, _) = update { answers.append(entry.text) }
        guard case .prompt(let prompt, let news?) = update else { continue }
        session.markShown(through: news)
        return answers + [prompt.answer?.text]
      }
      return answers
    }
    let call = Task { try await session.answer(to: "hello") }
    let server = try await nextServer()
    await server.answer(try await server.nextPrompt(), .success(text: "hi"))
    #expect(try await call.value.text == "hi")
    #expect(await loop.value == ["hi", "hi"])
    await session.close()
    #expect(try await unshown == [])
  }

  @Test(arguments: [
    ("no", AnswerError.Reason.failed("no")), ("interrupted", .interrupted),
  ])
  func `a prompt that is not answered throws its outcome, which counts as shown`(
    text: String, expected: AnswerError.Reason
  ) async throws {
    let session = try await open()
    let call = Task { try await session.answer(to: "hello") }
    let server = try await nextServer()
    let prompt = try await server.nextPrompt()
    await server.answer(prompt, .failure(error: text))
    let error = await #expect(throws: AnswerError.self) { try await call.value }
    #expect(error?.reason == expected)
    #expect(error?.key.description == prompt.idempotencyKey)
    await session.close()
    #expect(try await unshown == [])
  }

  @Test func `a prompt that the session refuses throws the reason`() async throws {
    let session = try await open()
    let empty = await #expect(throws: AnswerError.self) { try await session.answer(to: "") }
    #expect(empty?.reason == .failed("the prompt is empty"))
    await session.close()
    let late = await #expect(throws: AnswerError.self) { try await session.answer(to: "late") }
    #expect(late?.reason == .ended(nil, isQueued: false))
  }

  @Test func `only one call waits for a key that the app has chosen`() async throws {
    let session = try await open()
    let key = UUID128(high: 1, low: 2)
    let call = Task { try await session.answer(to: "hello", key: key) }
    let server = try await nextServer()
    let prompt = try await server.nextPrompt()
    #expect(prompt.idempotencyKey == key.description)
    let second = await #expect(throws: AnswerError.self) {
      try await session.answer(to: "hello", key: key)
    }
    #expect(second == AnswerError(key: key, .failed("another call waits for its answer")))
    await server.answer(prompt, .success(text: "hi"))
    #expect(try await call.value.text == "hi")
    await session.close()
  }

  @Test func `a closed session still has the failure that ended it`() async throws {
    let session = try await open(tokens: TokenSource { throw TokenFailure.rejected })
    for await _ in session {}
    let failure = try #require(session.failure)
    await session.close()
    #expect(session.failure == failure)
  }

  @Test func `a cancelled call leaves its prompt in the outbox, and a loop gets the answer`()
    async throws
  {
    let session = try await open()
    let call = Task { try await session.answer(to: "hello") }
    let server = try await nextServer()
    let prompt = try await server.nextPrompt()
    call.cancel()
    let error = await #expect(throws: AnswerError.self) { try await call.value }
    #expect(error?.reason == .cancelled)
    await server.answer(prompt, .success(text: "late"))
    for await case .prompt(let prompt, let news?) in session {
      #expect(prompt.answer?.text == "late")
      session.markShown(through: news)
      break
    }
    await session.close()
  }

  @Test func `a call ends at its time limit or with the session, and the next run has the prompts`()
    async throws
  {
    let session = try await open()
    let short = Task { try await session.answer(to: "short", within: .seconds(5)) }
    let server = try await nextServer()
    _ = try await server.nextPrompt()
    clock.advance(by: .seconds(5))
    let late = await #expect(throws: AnswerError.self) { try await short.value }
    #expect(late?.reason == .timeout(after: .seconds(5), nil))
    let long = Task { try await session.answer(to: "long") }
    await session.waitUntil { $0.unanswered == 2 && $0.queue.unstoredCount == 0 }
    await session.close()
    let ended = await #expect(throws: AnswerError.self) { try await long.value }
    #expect(ended?.reason == .ended(nil, isQueued: true))
    let stored = try await store.open(as: UUID128(high: 0, low: 1))
    #expect(stored.prompts.map(\.text) == ["short", "long"])
  }

  @Test func `a failure of the session ends calls and loops, and reconnecting continues`()
    async throws
  {
    let isSignedIn = Mutex(false)
    let session = try await open(
      tokens: TokenSource {
        guard isSignedIn.withLock(\.self) else { throw TokenFailure.rejected }
        return "key"
      })
    do throws(AnswerError) {
      _ = try await session.answer(to: "a")
      Issue.record("the session has no key")
    } catch {
      #expect(session.failure != nil)
      #expect(error.reason == .ended(session.failure, isQueued: true))
    }
    for await _ in session {}
    isSignedIn.withLock { $0 = true }
    session.reconnect()
    #expect(session.failure == nil)
    let call = Task { try await session.answer(to: "b") }
    let server = try await nextServer()
    for (text, answer) in [("a", "1"), ("b", "2")] {
      let prompt = try await server.nextPrompt()
      #expect(prompt.text == text)
      await server.answer(prompt, .success(text: answer), as: answer)
    }
    #expect(try await call.value.text == "2")
    await session.close()
    let left = try await unshown.map { one in
      switch one.news {
      case .message(let entry, _): entry.text
      case .ended(let ending): ending.text
      }
    }
    #expect(left == ["1", "a"], "nobody has seen the answer to the first prompt")
  }

  @Test(arguments: [false, true])
  func `without a loop, an answer follows any number of other messages`(
    hadLoop: Bool
  ) async throws {
    let session = try await open()
    if hadLoop {
      for await _ in session { break }
    }
    let call = Task { try await session.answer(to: "hello") }
    let server = try await nextServer()
    server.socket.limitUnread(to: 4_000)
    let prompt = try await server.nextPrompt()
    for number in 1...1_200 { await server.sendOther(number) }
    await server.answer(prompt, .success(text: "hi"))
    #expect(try await call.value.text == "hi")
    await session.close()
    #expect(try await unshown.count == 1_200, "only the answer was shown")
    #expect(try await session.history(of: "c", limit: 2_000).count == 1_200)
  }

  @Test func `the status says why there is no key`() async throws {
    let session = try await open(
      tokens: TokenSource { throw TokenFailure.unavailable(detail: "the keychain is locked") })
    let failure = LinkFailure.local(detail: "there is no token: the keychain is locked")
    await session.waitUntil { $0.link.status.reason == .failure(failure) }
    await session.close()
  }
}
