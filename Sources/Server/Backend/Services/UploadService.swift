import HoldfastCore
import HoldfastMessageServer
import HoldfastOwnerFiles
import HoldfastServerParts
import HoldfastSyncServer
import HoldfastUploads

/// The outcome of work of a service with uploads.
protocol UploadOutcome: Sendable {
  static func written(_ end: Int) -> Self
  static func unfinished(_ end: Int, _ failure: StoreFailure) -> Self
  static func failed(_ failure: StoreFailure) -> Self
}

/// An input of the rules of a service with uploads.
protocol UploadInput: Sendable {
  associatedtype Outcome: UploadOutcome
  static func done(_ token: StoreToken, _ outcome: Outcome) -> Self
  static func disk(_ space: DiskSpace) -> Self
}

extension SyncOutcome: UploadOutcome {}
extension SyncServer.Input: UploadInput {}
extension ImageOutcome: UploadOutcome {}
extension ImageServer.Input: UploadInput {}

/// A service with resumable uploads.
protocol UploadService: Service where Rules.Input: UploadInput {
  var uploads: UploadFiles { get }

  /// Stores what a complete upload contains.
  func finish(
    _ id: UUID128, _ record: UploadRecord, _ content: [UInt8]
  ) async throws(StoreFailure) -> Rules.Input.Outcome
}

extension UploadService {
  /// Returns the input to pass to the rules for a request. If the request may write, the input is
  /// the space on the disk, and that of the request follows.
  func measured(
    _ request: Rules.Input, _ method: String, _ context: inout ServiceContext<Self>
  ) -> Rules.Input {
    guard method == "POST" || method == "PATCH", let space = uploads.space else { return request }
    context.feed(request)
    return .disk(space)
  }

  /// Carries out an effect of the uploads.
  func perform(_ effect: UploadEffect, _ context: inout ServiceContext<Self>) {
    let service = self
    switch effect {
    case .write(let token, let id, let record, let offset, let bytes):
      run(token, context, on: uploads.queue) { () throws(StoreFailure) in
        .written(try service.uploads.write(bytes, to: id, record, at: offset))
      }
    case .finish(let token, let id, let record, let offset, let bytes):
      context.start(on: uploads.queue) {
        let end: Int
        do throws(StoreFailure) {
          end = try service.uploads.write(bytes, to: id, record, at: offset)
        } catch {
          return Stored(input: .done(token, .failed(error)), failure: error)
        }
        return await Self.done(token, failed: { .unfinished(end, $0) }) { () throws(StoreFailure) in
          let content = try service.uploads.read(id, record, upTo: end)
          return try await service.finish(id, record, content)
        }
      }
    case .forget(let id): uploads.remove(id)
    case .measure: if let space = uploads.space { context.feed(.disk(space)) }
    case .inform(let id, let fields):
      context.inform(id, 104, fields.map { ($0.name, $0.value) })
    case .interrupt(let id): context.interrupt(id)
    }
  }

  /// Runs work outside the loop of the sockets. Its outcome becomes an input.
  func run(
    _ token: StoreToken, _ context: ServiceContext<Self>, on queue: FileQueue? = nil,
    _ work: @escaping @Sendable () async throws(StoreFailure) -> Rules.Input.Outcome
  ) {
    context.start(on: queue) { await Self.done(token, failed: Rules.Input.Outcome.failed, work) }
  }

  private static func done(
    _ token: StoreToken, failed: (StoreFailure) -> Rules.Input.Outcome,
    _ work: () async throws(StoreFailure) -> Rules.Input.Outcome
  ) async -> Stored<Rules.Input> {
    do throws(StoreFailure) {
      return Stored(input: .done(token, try await work()))
    } catch {
      return Stored(input: .done(token, failed(error)), failure: error)
    }
  }
}
