import Foundation
import Glibc
import HoldfastAssistants
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastIdentity
import HoldfastJSON
import HoldfastKeyedHashing
import HoldfastPorts
import HoldfastProtocols
import HoldfastSQLiteStores
import HoldfastServerParts
import HoldfastServerSockets
import HoldfastSyncData
import HoldfastSyncServer
import Synchronization

/// The service of health sync, which stores batches from phones and reports on them.
struct SyncService: UploadService {
  typealias Context = ServiceContext<SyncService>

  var rules: SyncServer
  let store: any SyncStore
  let secrets: Renewable<SyncSecrets>
  let tokens: TokenAuthority
  let zones: SyncZones
  let uploads: UploadFiles
  let proxies: TrustedProxies
  let first: SyncServer.Input?
  private let times = CommitTimes()

  static var metricsName: String { "sync" }

  static func databases(_ configuration: BackendConfiguration) -> [String] {
    ["\(configuration.dataDirectory)/sync.sqlite"]
  }

  /// Returns zero, because phones open no sockets.
  static func maxSockets(_ configuration: BackendConfiguration) -> Int { 0 }

  static func checkFiles(of configuration: BackendConfiguration) throws(BackendError) {
    try SyncSecrets.check(configuration.syncSecretPath)
  }

  static func open(_ setup: BackendSetup) async throws(BackendError) -> SyncService {
    let configuration = setup.configuration
    let (content, isOpen) = try SyncSecrets.open(configuration.syncSecretPath)
    let secrets = Renewable(content)
    if isOpen {
      setup.log.note(
        .exposed,
        "other users of this machine can read \(configuration.syncSecretPath); run chmod 600 on it")
    }
    let store = try await setup.store((any SyncStore).self) { () throws(StoreFailure) in
      try await SQLiteSyncStore.open(
        in: configuration.dataDirectory, newEpoch: configuration.beginsNewEpoch)
    }
    let epoch: String
    do throws(StoreFailure) {
      epoch = try await store.epoch()
    } catch {
      throw .store(error)
    }
    var policy = configuration.sync
    policy.originPolicy = configuration.assistantsHere.originPolicy
    let uploads = UploadFiles(syncedIn: configuration.dataDirectory)
    let zones = SyncZones()
    setup.access.syncSecrets.provide(secrets)
    setup.synced.provide(
      store, secrets, zones, signing: try Tokens.open(for: configuration).sign)
    return SyncService(
      rules: SyncServer(policy: policy, epoch: epoch, at: BootClock().now), store: store,
      secrets: secrets, tokens: try setup.authority(),
      zones: zones, uploads: uploads, proxies: configuration.proxies,
      first: .restored(uploads.stored(at: BootClock().wall)))
  }

  var port: (any HoldfastPorts.SuspendableStore)? { store }

  var commitTimes: CommitTimes? { times }

  mutating func read(
    _ event: ServiceEvent<SyncPath>, _ context: inout Context
  ) -> SyncServer.Input? {
    switch event {
    case .request(let id, let path, let head, let body):
      let (call, user) = call(id, path, head, body, context)
      context.describe(id, [("user", user?.name)])
      return measured(
        .request(id, call, user: user, wall: BootClock().wall), head.method, &context)
    case .announced(let id, let path, let head):
      let (call, user) = call(id, path, head, [], context)
      return .announced(id, call, user: user)
    case .cut(let id, let path, let head, let body):
      return measured(.cut(id, call(id, path, head, body, context).call), head.method, &context)
    case .abandoned(let id): return .abandoned(id)
    case .upgrade, .received, .text, .binary, .overflow, .drained, .closed: return nil
    }
  }

  /// Creates a call from the parts of a request that the rules use, and finds its user.
  private func call(
    _ id: RequestID, _ path: SyncPath, _ head: HTTPRequestHead, _ body: [UInt8],
    _ context: Context
  ) -> (call: SyncCall, user: SyncUser?) {
    var call = SyncCall(head.method, path, body: body) {
      head.first($0)
    } query: {
      head.firstQuery($0)
    } candidate: {
      .random()
    }
    call.address = context.client(of: context.hub.connection(of: id), head, through: proxies)
    let secrets = secrets.value
    if let user = secrets.user(of: head.bearer) { return (call, user) }
    guard let credential = tokens.providedCredential(of: head) else {
      call.wrongSecret = secrets.wrong(head.bearer)
      return (call, nil)
    }
    switch credential.checked(at: BootClock().wall, leeway: .zero) {
    case .success(let claims):
      call.showsSecret = false
      // A user of the file may have a time zone there.
      let user = secrets.users.first { $0.name == claims.user } ?? SyncUser(claims.user)
      return (call, user)
    case .failure(let fault):
      call.refusedToken = fault
      return (call, nil)
    }
  }

  mutating func perform(_ effect: SyncServer.Effect, _ context: inout Context) {
    let (service, store, uploads, zones) = (self, store, uploads, zones)
    switch effect {
    case .answer(let id, let answer):
      context.respond(id, answer.status, answer.headers, answer.body)
    case .ingest(let token, let user, let body, let isGzip):
      run(token, context) { () throws(StoreFailure) in
        try await service.ingest(body, isGzip: isGzip, of: user.name)
      }
    case .stamp(let token, let user, let device):
      run(token, context) { () throws(StoreFailure) in
        .stamped(try await store.newestStamp(of: user.name, device: device))
      }
    case .check(let token):
      run(token, context) { () throws(StoreFailure) in
        try await store.check()
        try uploads.check()
        return .checked
      }
    case .report(let token, let user, let path, let span, let wall):
      run(token, context) { () throws(StoreFailure) in
        try await Self.report(path, span, of: user, at: wall, from: store, zones)
      }
    case .upload(let effect): perform(effect, &context)
    case .finished: break
    }
  }

  func finish(
    _ id: UUID128, _ record: UploadRecord, _ content: [UInt8]
  ) async throws(StoreFailure) -> SyncOutcome {
    try await ingest(content, isGzip: record.isGzip, of: record.user)
  }

  /// Decodes a body and stores its batch.
  private func ingest(
    _ body: [UInt8], isGzip: Bool, of user: String
  ) async throws(StoreFailure) -> SyncOutcome {
    switch try Self.delivery(body, isGzip: isGzip, user: user) {
    case .success(let delivery):
      .stored(
        try await times.measure { () throws(StoreFailure) in try await store.apply(delivery) })
    case .failure(let refusal): refusal.outcome
    }
  }

  /// The refusal of a body, with the outcome to report.
  private struct Refusal: Error {
    var outcome: SyncOutcome
  }

  /// Decodes a body outside the loop of the sockets.
  private static func delivery(
    _ body: [UInt8], isGzip: Bool, user: String
  ) throws(StoreFailure) -> Result<SyncDelivery, Refusal> {
    let limit = SyncServerPolicy.maxBodyBytes
    var plain = body
    do throws(GzipBody.Fault) {
      if isGzip { plain = try GzipBody.inflate(body, atMost: limit) }
    } catch {
      switch error {
      case .malformed:
        return .failure(Refusal(outcome: .refused(reason: "the body is not gzip, or is damaged")))
      case .tooLong: return .failure(Refusal(outcome: .tooLong(limit: limit)))
      case .noMemory: throw StoreFailure.other(detail: "no memory to decompress a body")
      }
    }
    do throws(FieldFault) {
      let reading = try SyncReading.read(plain)
      var hasher = ContentHash()
      return .success(
        SyncDelivery(of: reading, user: user, arrived: BootClock().wall) { hasher.hash($0) })
    } catch {
      return .failure(Refusal(outcome: .refused(reason: error.description)))
    }
  }

  /// Computes a report outside the loop of the sockets.
  private static func report(
    _ path: SyncPath, _ span: SyncSpan, of user: SyncUser, at wall: Timestamp,
    from store: any SyncStore, _ zones: SyncZones
  ) async throws(StoreFailure) -> SyncOutcome {
    let stored = try await store.summary(of: user.name)
    let lastSync =
      path == .summary || path == .types ? try await store.lastSync(of: user.name) : nil
    var report = SyncReport(
      path, span, zone: zones.rules(of: user.zone), now: wall, stored: stored, lastSync: lastSync)
    while let query = report.wanted {
      report.take(try await store.samples(query, of: user.name))
    }
    return report.outcome
  }
}

extension SyncPath: ServiceRoute {
  static let maxBodyBytes = [
    Self.sync.rawValue: SyncServerPolicy.maxBodyBytes,
    Self.upload.rawValue: SyncServerPolicy.maxBodyBytes,
  ]
  static let announced: Set = [Self.sync.rawValue, Self.upload.rawValue]

  /// A HEAD request of an upload asks for its offset.
  var takesHead: Bool { self == .upload }

  init?(path: String) {
    // People who type the address of the dashboard may add a slash.
    let isPage = path == Self.dashboard.rawValue + "/"
    self.init(rawValue: isPage ? Self.dashboard.rawValue : path)
  }

  var takesCompressed: Bool { self == .sync || self == .upload }
}

extension UploadFiles {
  /// Creates a value for the uploads of batches in a data directory.
  init(
    syncedIn data: String, syncDirectory: @escaping @Sendable (Int32) -> Int32 = fsync
  ) {
    self.init(
      at: "\(data)/sync-uploads", maxBytes: SyncServerPolicy.maxBodyBytes, maxUserBytes: 256,
      syncDirectory: syncDirectory)
  }
}

extension BackendConfiguration {
  /// The path of the file with the users' secrets.
  var syncSecretPath: String { syncSecretFile ?? "\(dataDirectory)/sync-secrets" }
}

/// A cache of time-zone rules. Determining the rules of a zone takes many system calls.
final class SyncZones: Sendable {
  private let known = Mutex<[String?: ZoneRules]>([:])

  /// Returns the rules of a time zone. `nil` means the system's time zone.
  func rules(of name: String?) -> ZoneRules {
    if let rules = known.withLock({ $0[name] }) { return rules }
    let zone = name.flatMap { TimeZone(identifier: $0) }
    let rules = ZoneRules(zone ?? .current, name: zone == nil ? nil : name)
    known.withLock { $0[name] = rules }
    return rules
  }
}
