public import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastHealthRelay
public import HoldfastRelayData
public import Observation

/// The assistants that are signed in, and what they may read while this phone is away.
///
/// A change is shown at once, and sent to the server. If the server does not accept it, it is shown
/// no longer, and `failure` has the reason.
@MainActor @Observable public final class AssistantAccess {
  /// The assistants that are signed in, oldest first.
  public internal(set) var assistants: [AssistantRow] = []
  /// Whether the server answers from synced samples while this phone is away.
  public internal(set) var usesSynced = false
  /// The reason why the last request had no effect.
  public internal(set) var failure: AccessFailure?
  /// Whether a request is running or waits for another one.
  public internal(set) var isBusy = false

  /// Whether there is something to change: an assistant, or the use of synced samples.
  public var isUsed: Bool { usesSynced || !assistants.isEmpty }

  @ObservationIgnored private let service: Service?
  /// The pairing of which the server knows in this run of the app that it uses synced samples.
  @ObservationIgnored private var sentFor: Secret?
  @ObservationIgnored private var last: Task<Void, Never>?
  @ObservationIgnored private var waiting = 0

  /// The server, and the device that asks it.
  struct Service {
    /// Returns the client of the pairing: `.some(nil)` without a pairing.
    let pull: @MainActor () -> HealthPull??
    /// Returns the secret of the user of health sync.
    let secret: @MainActor () async throws(LinkFailure) -> Secret
    /// Returns the time zone of days.
    let zone: @MainActor () -> ZoneRules
    let choice: SyncedChoice
    /// Starts a task that a sign-out ends.
    let start: @MainActor (@escaping @MainActor () async -> Void) -> Task<Void, Never>
  }

  /// - Parameter service: The server; `nil` in a preview.
  init(_ service: Service? = nil) {
    self.service = service
    usesSynced = service?.choice.isOn ?? false
  }

  /// Reads which assistants are signed in.
  public func refresh() { list(.list) }

  /// Lets the server answer from the samples that this app has synced, while this phone is away, or
  /// ends this.
  public func useSynced(_ isOn: Bool) {
    guard let service, isOn != usesSynced else { return }
    usesSynced = isOn
    request { access, pull async throws(LinkFailure) in
      do throws(LinkFailure) {
        try await access.send(isOn, pull)
        if !service.choice.set(isOn) { access.failure = .store }
      } catch {
        access.usesSynced = service.choice.isOn
        throw error
      }
    }
  }

  /// Allows or forbids one assistant to get answers from synced samples.
  public func allowSynced(_ isAllowed: Bool, to id: AssistantRow.ID) {
    guard let index = assistants.firstIndex(where: { $0.id == id }) else { return }
    assistants[index].assistant.readsSynced = isAllowed
    list(.synced(id, allows: isAllowed))
  }

  /// Ends the access of an assistant, which then has to sign in again.
  public func end(_ id: AssistantRow.ID) { list(.end(id)) }

  /// Tells the server of a new pairing whether it may use synced samples, and reads the assistants.
  func paired(_ token: Secret) {
    if usesSynced, token != sentFor {
      request { access, pull async throws(LinkFailure) in
        guard access.usesSynced, token != access.sentFor else { return }
        try await access.send(true, pull)
        access.sentFor = token
      }
    }
    refresh()
  }

  /// Forgets the pairing, and what was chosen for it.
  func clear() {
    (assistants, usesSynced, failure, sentFor) = ([], false, nil, nil)
    if service?.choice.set(false) == false { failure = .store }
  }

  private func send(_ isOn: Bool, _ pull: HealthPull) async throws(LinkFailure) {
    guard let service else { return }
    try await pull.readSynced(of: isOn ? service.secret() : nil, zone: service.zone())
  }

  private func list(_ order: AssistantsOrder) {
    request { access, pull async throws(LinkFailure) in
      do throws(LinkFailure) {
        access.assistants = try await pull.assistants(order).assistants.map { AssistantRow($0) }
      } catch {
        // What is shown is what the server has said.
        if order != .list, let now = try? await pull.assistants(.list) {
          access.assistants = now.assistants.map { AssistantRow($0) }
        }
        throw error
      }
    }
  }

  /// Makes a request after the earlier ones.
  private func request(
    _ work: @escaping @MainActor (AssistantAccess, HealthPull) async throws(LinkFailure) -> Void
  ) {
    guard let service else { return }
    let before = last
    (waiting, isBusy) = (waiting + 1, true)
    last = service.start { [weak self] in
      await before?.value
      guard let self else { return }
      failure = nil
      switch service.pull() {
      case .some(.some(let pull)):
        do throws(LinkFailure) {
          try await work(self, pull)
        } catch {
          failure = Task.isCancelled ? nil : AccessFailure(error)
        }
      case .some(.none): (assistants, usesSynced) = ([], service.choice.isOn)
      case .none: (usesSynced, failure) = (service.choice.isOn, .store)
      }
      waiting -= 1
      isBusy = waiting > 0
    }
  }
}

/// The reason why a change of an assistant's access had no effect.
public enum AccessFailure: Sendable, Hashable {
  /// The server has no synced health data of this user.
  case notSynced
  /// The server cannot do this, or no longer has the assistant.
  case unsupported
  /// The server has ended the pairing.
  case ended
  /// The server cannot be reached at present.
  case unreachable
  /// The data on this device cannot be used at present.
  case store

  init(_ failure: LinkFailure) {
    switch failure {
    case .http(403, _, _): self = .notSynced
    case .http(404, _, _): self = .unsupported
    case .http(401, _, _): self = .ended
    case .local: self = .store
    case .http, .unreachable, .dns, .refused, .timeout, .tls, .reset, .ended, .closed,
      .protocolError, .proxy, .captivePortal:
      self = .unreachable
    }
  }
}

/// An assistant that is signed in, as a row of a list.
public struct AssistantRow: Sendable, Hashable, Identifiable {
  /// The id of its sign-in.
  public var id: String { assistant.id }
  /// The sign-in.
  public var assistant: PairedAssistants.Assistant

  /// The name that the assistant gives itself; `nil` if it gives none.
  public var name: String? { assistant.name?.name }
  /// The time of the last question; `nil` if there was none.
  public var lastQuestion: Date? { assistant.lastQuestion.map { Date($0) } }

  /// Creates the row of an assistant.
  public init(_ assistant: PairedAssistants.Assistant) { self.assistant = assistant }
}

/// The user's choice to answer from synced samples, which lasts until a sign-out. It is an empty
/// file, because the server does not report it.
struct SyncedChoice: Sendable {
  private let folder: String
  private var file: String { folder + "/synced" }

  init(in folder: String) { self.folder = folder }

  var isOn: Bool { FileManager.default.fileExists(atPath: file) }

  /// Stores the choice. Returns false if it cannot be stored.
  func set(_ isOn: Bool) -> Bool {
    let files = FileManager.default
    guard isOn else { return !self.isOn || (try? files.removeItem(atPath: file)) != nil }
    try? files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return files.createFile(atPath: file, contents: Data())
  }
}

extension HoldfastLinks {
  /// Returns the access of assistants of the relay's pairing.
  func assistantAccess() -> AssistantAccess {
    let (tokens, choice) = (tokens, SyncedChoice(in: folder(.relay)))
    return AssistantAccess(
      AssistantAccess.Service(
        pull: { [weak self] in
          guard let self, signingOut == nil else { return .some(nil) }
          return pull()
        },
        secret: { () async throws(LinkFailure) in Secret(try await tokens.secret()) },
        zone: { [weak self] in ZoneRules(self?.parts.zone ?? .current) }, choice: choice,
        start: { [weak self] work in self?.userTasks.start(work) ?? Task { await work() } }))
  }
}
