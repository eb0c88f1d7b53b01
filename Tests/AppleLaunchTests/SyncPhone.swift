@_spi(Script) import BackgroundSession
import Foundation
import FoundationNetworking
@_spi(Script) import HealthKit
import HoldfastBackgroundUploads
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthKit
import HoldfastPorts
import HoldfastSocket
import HoldfastTestKit
import Synchronization

/// The parts of a phone that outlive the processes of an app: the samples in HealthKit, the daemon
/// that sends uploads, and the files of the app.
///
/// Each process receives a HealthKit of its own with the same samples. The objects of a process that
/// was killed still exist in a test, and must not see or change anything any more.
final class SyncPhone: Sendable {
  /// The identifier of the background session, the same in each launch.
  static let session = "holdfast.health"
  static let steps = "HKQuantityTypeIdentifierStepCount"

  private enum Change: Sendable {
    case add(HKSample)
    case delete(UUID)
  }

  private struct State {
    var changes: [Change] = []
    var health: ScriptedHealth?
    /// The number of times that the server has received each value.
    var received: [Int: Int] = [:]
    var receivedDeletions: Set<UUID> = []
  }

  let server: SyncServer
  let user: Int
  let scratch: Scratch
  let daemon = UploadDaemon()
  private let http: any HTTPClient
  private let state = Mutex(State())

  /// Creates a phone of one of the server's users. Its daemon sends nothing before `send` is called.
  init(_ server: SyncServer, user: Int, http: any HTTPClient) throws {
    (self.server, self.user, self.http) = (server, user, http)
    scratch = try Scratch()
  }

  var secret: String { SyncServer.secret(of: user) }

  /// Returns the target of uploads from files in a directory of the app.
  func target(in directory: String) -> UploadTarget {
    UploadTarget(server: server.url, directory: URL(filePath: directory), http: http) {
      [secret] in secret
    }
  }

  // MARK: Samples

  /// Creates a sample whose value is its number, some minutes ago.
  static func sample(_ number: Int, minutesAgo: Int) -> HKSample? {
    let identifier = HKQuantityTypeIdentifier(rawValue: steps)
    guard let type = HKObjectType.quantityType(forIdentifier: identifier) else { return nil }
    let start = Date(timeIntervalSinceNow: -60 * Double(minutesAgo))
    return HKQuantitySample(
      type, HKQuantity(unit: HKUnit(from: "count"), doubleValue: Double(number)),
      SampleFacts(start: start, end: start.addingTimeInterval(30)))
  }

  /// Adds a sample, also while no process runs.
  func add(_ number: Int) {
    guard let sample = Self.sample(number, minutesAgo: 1_000 - number) else { return }
    // Under the lock, so that changes have the same order in each process.
    state.withLock { state in
      state.changes.append(.add(sample))
      state.health?.add([sample])
    }
  }

  /// Deletes the sample with this number; does nothing if there is none.
  func delete(_ number: Int) {
    state.withLock { state in
      guard let uuid = Self.live(state.changes).first(where: { $0.number == number })?.uuid else {
        return
      }
      state.changes.append(.delete(uuid))
      state.health?.delete(uuid)
    }
  }

  /// The numbers of the samples that were not deleted, in order.
  var numbers: [Int] { state.withLock { Self.live($0.changes).map(\.number).sorted() } }

  /// Whether the server has received all samples and deletions.
  var isReceived: Bool {
    state.withLock { state in
      let deleted = state.changes.compactMap { change in
        if case .delete(let uuid) = change { uuid } else { nil }
      }
      return Self.live(state.changes).allSatisfy { state.received[$0.number] != nil }
        && state.receivedDeletions.isSuperset(of: deleted)
    }
  }

  /// The highest number of times that the server has received one sample.
  var mostReceived: Int { state.withLock { $0.received.values.max() ?? 0 } }

  private static func live(_ changes: [Change]) -> [(number: Int, uuid: UUID)] {
    var live: [(number: Int, uuid: UUID)] = []
    for change in changes {
      switch change {
      case .add(let sample):
        guard let sample = sample as? HKQuantitySample else { continue }
        let number = Int(sample.quantity.doubleValue(for: HKUnit(from: "count")))
        live.append((number, sample.uuid))
      case .delete(let uuid): live.removeAll { $0.uuid == uuid }
      }
    }
    return live
  }

  /// Returns the HealthKit of the next process, in which all changes so far have happened.
  func newHealth() -> ScriptedHealth {
    let health = ScriptedHealth()
    state.withLock { state in
      for change in state.changes {
        switch change {
        case .add(let sample): health.add([sample])
        case .delete(let uuid): health.delete(uuid)
        }
      }
      state.health = health
    }
    return health
  }

  /// Ends a process. HealthKit and the daemon tell it nothing any more.
  func kill(_ process: AppProcess) {
    process.kill()
    state.withLock { $0.health = nil }
  }

  // MARK: Uploads

  /// Lets the daemon send uploads over real connections.
  ///
  /// - Parameter step: A function that runs before a request, and after its response with whether it
  ///   is lost.
  func send(_ step: @escaping @Sendable (Transfer, SendStep) async -> Bool) {
    daemon.send { [self] transfer in
      _ = await step(transfer, .request)
      guard let body = try? Data(contentsOf: transfer.file) else {
        return .failure(.fileDoesNotExist)
      }
      let call = HTTPCall(
        method: transfer.request.httpMethod ?? "", url: transfer.request.url?.absoluteString ?? "",
        headers: (transfer.request.allHTTPHeaderFields ?? [:]).map { ($0.key, $0.value) },
        body: Array(body), timeout: .seconds(30), maxBodyBytes: 1 << 20)
      do throws(LinkFailure) {
        let answer = try await http.send(call)
        if answer.status == 200 { note(body) }
        let isLost = await step(transfer, .response)
        return isLost
          ? .failure(.networkConnectionLost)
          : .answer(
            answer.status, headers: answer.headers,
            body: String(decoding: answer.body, as: UTF8.self))
      } catch {
        return .failure(.cannotConnectToHost)
      }
    }
  }

  /// A moment of an upload in the daemon.
  enum SendStep: Sendable { case request, response }

  private func note(_ body: Data) {
    guard let batch = try? JSONSerialization.jsonObject(with: body) as? [String: Any] else {
      return
    }
    let values = (batch["records"] as? [[String: Any]] ?? []).compactMap { $0["value"] as? Double }
    let deleted = (batch["deletedUUIDs"] as? [String] ?? []).compactMap { UUID(uuidString: $0) }
    state.withLock { state in
      for value in values { state.received[Int(value), default: 0] += 1 }
      state.receivedDeletions.formUnion(deleted)
    }
  }

  /// Returns the files of the app that contain the token.
  func filesWithSecret() throws -> [String] {
    let secret = Data(secret.utf8)
    let names = FileManager.default.enumerator(atPath: scratch.path)?.allObjects ?? []
    return names.compactMap { $0 as? String }.filter { name in
      let data = try? Data(contentsOf: URL(filePath: scratch(name)))
      return data?.range(of: secret) != nil
    }
  }
}
