import Foundation
import Holdfast
import HoldfastCore
import HoldfastPorts
import HoldfastRelayData
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastUI

/// Tests of what the user allows assistants, and of the notice of a new one.
@Suite(.timeLimit(.minutes(60))) @MainActor struct AssistantAccessTests {
  private let scratch: Scratch
  private let secrets = MemorySecretStore()
  private let network = FakeNetwork(clock: BootClock())
  private let server = RelayScript()
  /// The links of all runs of the app, which nothing else keeps.
  private let kept = KeptLinks()

  init() throws {
    scratch = try Scratch()
    try secrets.write(Secret("resume-token"), scratch.pairing, access: .whileUnlocked)
    network.serve(requests: { [server] in await server.answer($0) })
  }

  private func links() throws -> HoldfastLinks {
    let links = try HoldfastUITests.links(
      in: scratch, network, clock: BootClock(), secrets: secrets)
    links.parts.zone = TimeZone(identifier: "Europe/Vienna")
    kept.all.append(links)
    return links
  }

  private func settle(_ access: AssistantAccess) async { await change(of: access) { !$0.isBusy } }

  @Test func `the user lets the server answer from synced samples, and ends it`() async throws {
    let access = try links().assistantAccess()
    #expect(!access.usesSynced && !access.isUsed)
    access.useSynced(true)
    #expect(access.usesSynced && access.isBusy, "the switch moves at once")
    access.useSynced(true)
    await settle(access)
    #expect(access.failure == nil)
    #expect(try links().assistantAccess().usesSynced, "also in the next run")
    access.useSynced(false)
    await settle(access)
    #expect(!access.usesSynced && access.failure == nil)
    #expect(try !links().assistantAccess().usesSynced)
    #expect(
      server.calls == [
        #"/relay/sync {"secret":"token","time_zone":"Europe/Vienna"}"#,
        #"/relay/sync {"secret":null}"#,
      ])
    #expect(server.tokens == ["Bearer resume-token"])
  }

  @Test(arguments: [
    (401, AccessFailure.ended), (403, .notSynced), (404, .unsupported), (500, .unreachable),
    (0, .unreachable),
  ])
  func `a choice that the server does not accept is taken back`(
    status: Int, failure: AccessFailure
  ) async throws {
    let access = try links().assistantAccess()
    server.set { $0.status = status }
    access.useSynced(true)
    await settle(access)
    #expect(!access.usesSynced)
    #expect(access.failure == failure)
    #expect(try !links().assistantAccess().usesSynced)
    server.set { $0.status = 200 }
    access.useSynced(true)
    await settle(access)
    #expect(access.usesSynced && access.failure == nil)
    server.set { $0.status = status }
    access.useSynced(false)
    await settle(access)
    #expect(access.usesSynced, "the server still answers")
    #expect(access.failure == failure)
  }

  @Test func `assistants are listed, forbidden and ended`() async throws {
    let access = try links().assistantAccess()
    server.set { $0.assistants = ["a": true, "b": true] }
    access.refresh()
    await settle(access)
    #expect(access.assistants.map(\.id) == ["a", "b"])
    #expect(access.assistants.map(\.name) == ["Claude", nil])
    #expect(access.assistants.first?.lastQuestion == Date(timeIntervalSince1970: 1_767_225_600))
    #expect(access.isUsed)
    access.allowSynced(false, to: "b")
    #expect(access.assistants.map(\.assistant.readsSynced) == [true, false])
    access.end("a")
    access.allowSynced(false, to: "unheard of")
    await settle(access)
    #expect(access.assistants.map(\.id) == ["b"])
    #expect(access.assistants.map(\.assistant.readsSynced) == [false])
    #expect(
      server.calls == [
        "/relay/assistants {}", #"/relay/assistants {"id":"b","synced":false}"#,
        #"/relay/assistants {"end":"a"}"#,
      ])
  }

  @Test func `after a change that failed, the list is that of the server`() async throws {
    let access = try links().assistantAccess()
    server.set { $0.assistants = ["a": true] }
    access.refresh()
    await settle(access)
    server.set { $0.failsOrders = true }
    access.allowSynced(false, to: "a")
    await settle(access)
    #expect(access.failure == .unreachable)
    #expect(access.assistants.map(\.assistant.readsSynced) == [true])
  }

  @Test func `the choice is sent once for each new pairing`() async throws {
    let access = try links().assistantAccess()
    access.paired(Secret("one"))
    await settle(access)
    #expect(server.calls == ["/relay/assistants {}"])
    access.useSynced(true)
    await settle(access)
    server.set { ($0.calls, $0.status) = ([], 500) }
    access.paired(Secret("one"))
    await settle(access)
    #expect(access.usesSynced, "the choice stays when the server is not available")
    server.set { $0.status = 200 }
    for _ in 0..<2 { access.paired(Secret("one")) }
    await settle(access)
    access.paired(Secret("two"))
    await settle(access)
    #expect(server.calls.filter { $0.hasPrefix("/relay/sync") }.count == 3)
    access.clear()
    #expect(try !access.isUsed && !links().assistantAccess().usesSynced)
  }

  @Test func `without a readable pairing nothing is asked`() async throws {
    let access = try links().assistantAccess()
    secrets.setLocked(true)
    access.useSynced(true)
    await settle(access)
    #expect(access.failure == .store && !access.usesSynced)
    secrets.setLocked(false)
    try secrets.write(nil, scratch.pairing, access: .whileUnlocked)
    access.useSynced(true)
    access.refresh()
    await settle(access)
    #expect(access.failure == nil && !access.usesSynced)
    #expect(server.calls == [])
  }

  @Test func `forgetting the pairing forgets the choice`() async throws {
    let links = try links()
    let relay = links.healthRelay()
    relay.access.useSynced(true)
    await settle(relay.access)
    try relay.stop()
    #expect(!relay.access.usesSynced)
    #expect(try !self.links().assistantAccess().usesSynced)
    await relay.close()
  }
}

/// Tests of the notice of a new assistant, and of its action.
extension AssistantAccessTests {
  private func row(_ id: String, _ name: String?) -> AssistantRow {
    AssistantRow(
      PairedAssistants.Assistant(
        id: id, name: AssistantName(name), since: nil, lastQuestion: nil,
        expiresAt: Timestamp(nanoseconds: 0)))
  }

  @Test func `a new assistant is announced, and its access can be ended at once`() async throws {
    let links = try links()
    let notifier = ListedNotifier()
    links.parts.notifier = notifier
    links.announce(row("a", "Claude"))
    let notice = try await notifier.shown.next(within: .seconds(600))
    #expect(
      notice
        == HostNotification(
          title: "New assistant", body: "Claude can now ask for health data.",
          action: HostNotification.Action(name: "holdfast.end.a", title: "End access")))
    links.announce(row("b", nil))
    let other = try await notifier.shown.next(within: .seconds(600))
    #expect(other.body == "Assistant without a name can now ask for health data.")
    await links.take(notificationAction: "holdfast.end.a")
    await links.take(notificationAction: "of the app")
    #expect(server.calls == [#"/relay/assistants {"end":"a"}"#])
    #expect(notifier.shown.count == 0)
  }

  @Test(arguments: [(401, false), (404, false), (500, true), (0, true)])
  func `a failure to end access is reported`(status: Int, isTold: Bool) async throws {
    let links = try links()
    let notifier = ListedNotifier()
    links.parts.notifier = notifier
    server.set { $0.status = status }
    await links.take(notificationAction: "holdfast.end.a")
    #expect(notifier.shown.count == (isTold ? 1 : 0))
    guard isTold else { return }
    let notice = try await notifier.shown.next(within: .seconds(600))
    #expect(notice.title == "Access was not ended")
    #expect(notice.action?.name == "holdfast.end.a")
  }

  @Test func `without a pairing, and without a notifier, nothing happens`() async throws {
    let links = try links()
    links.announce(row("a", "Claude"))
    try secrets.write(nil, scratch.pairing, access: .whileUnlocked)
    await links.take(notificationAction: "holdfast.end.a")
    #expect(server.calls == [])
  }
}

/// A list of links.
@MainActor private final class KeptLinks {
  var all: [HoldfastLinks] = []
}

/// A notifier that lists what it was asked to show.
private struct ListedNotifier: Notifier {
  let shown = Mailbox<HostNotification>()

  func show(_ notification: HostNotification) async -> Bool {
    shown.put(notification)
    return true
  }
  func remove() async {}
}

/// A backend that answers the requests of a phone without a socket.
private final class RelayScript: Sendable {
  struct State {
    /// The status of each answer; 0 for no answer.
    var status = 200
    /// Whether each change of the assistants fails.
    var failsOrders = false
    /// Whether each assistant may read synced samples, by its id.
    var assistants: [String: Bool] = [:]
    var calls: [String] = []
    var tokens: Set<String> = []
  }

  private let state = Mutex(State())

  var calls: [String] { state.withLock(\.calls) }
  var tokens: Set<String> { state.withLock(\.tokens) }

  func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

  func answer(_ call: HTTPCall) async -> Result<HTTPAnswer, LinkFailure> {
    state.withLock { state in
      let body = String(decoding: call.body, as: UTF8.self)
      let path = call.url.replacing("https://server.example", with: "")
      state.calls.append("\(path) \(body)")
      state.tokens.formUnion(
        call.headers.filter { $0.name.lowercased() == "authorization" }.map(\.value))
      guard state.status != 0 else { return .failure(.reset) }
      var status = state.status
      if path == "/relay/assistants" { status = state.take(call.body) ?? status }
      let list = state.assistants.keys.sorted().map { id in
        let name = id == "a" ? #""name":"Claude","last_question":"2026-01-01T00:00:00Z","# : ""
        return #"{"id":"\#(id)",\#(name)"expires_at":"2027-01-01T00:00:00Z","#
          + #""synced":\#(state.assistants[id] ?? true)}"#
      }
      let text =
        #"{"success":true,"user":"ann","limit":8,"assistants":["#
        + list.joined(separator: ",") + "]}"
      return .success(
        HTTPAnswer(
          status: status, headers: ["content-type": "application/json"], body: Array(text.utf8)))
    }
  }
}

extension RelayScript.State {
  /// Carries out an order. Returns the status if it fails.
  fileprivate mutating func take(_ body: [UInt8]) -> Int? {
    guard let order = try? AssistantsOrder.read(body) else { return 400 }
    if order != .list, failsOrders { return 500 }
    guard status == 200 else { return nil }
    switch order {
    case .list: break
    case .end(let id): assistants[id] = nil
    case .endAll: assistants = [:]
    case .synced(let id, let allows): assistants[id] = allows
    }
    return nil
  }
}
