#if canImport(Darwin) || canImport(BackgroundSession)
  import Foundation
  import HoldfastAppleNetwork
  import HoldfastCore
  import HoldfastFeaturePorts
  import HoldfastPorts
  import HoldfastSyncData
  import HoldfastUploads
  import Synchronization
  #if canImport(BackgroundSession)
    import BackgroundSession
    import class FoundationNetworking.HTTPURLResponse
    import struct FoundationNetworking.URLRequest
  #endif

  /// The delegate of a background session. The session calls it one call at a time.
  final class UploadDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct State {
      /// The responses that are being received, by the number of the task.
      var bodies: [Int: [UInt8]] = [:]
      /// The tasks that have ended. A task ends once, even if the system reports the end again.
      var ended: Set<Int> = []
    }

    let ends = UploadEnds()
    private let state = Mutex(State())
    private let failed: @Sendable (LinkFailure, _ secret: String?) -> Void
    private let missing: @Sendable (String) -> String

    /// Creates a delegate.
    ///
    /// - Parameters:
    ///   - failed: A function that receives the failure of an upload, and the token of its request.
    ///   - missing: A function that describes a file that does not exist.
    init(
      failed: @escaping @Sendable (LinkFailure, _ secret: String?) -> Void,
      missing: @escaping @Sendable (String) -> String
    ) {
      (self.failed, self.missing) = (failed, missing)
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data
    ) {
      state.withLock { state in
        let task = dataTask.taskIdentifier
        let room = SyncRequests.maxBodyBytes - (state.bodies[task]?.count ?? 0)
        state.bodies[task, default: []] += data.prefix(max(0, room))
      }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      let (body, isFirst) = state.withLock { state in
        (
          state.bodies.removeValue(forKey: task.taskIdentifier) ?? [],
          state.ended.insert(task.taskIdentifier).inserted
        )
      }
      guard isFirst, let file = task.uploadedFile else { return }
      let event = event(of: file, task, body, error)
      let field = task.originalRequest?.value(forHTTPHeaderField: Authorization.name)
      if case .failed(let failure) = event.outcome {
        failed(failure, Authorization.token(of: field))
      }
      ends.put(event)
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { ends.finish() }

    /// Returns the tasks whose ends the system has not reported.
    ///
    /// A task that ended while no process ran may be listed as completed. Its end is reported later.
    func unfinished(_ tasks: [URLSessionTask]) -> [URLSessionTask] {
      let ended = state.withLock(\.ended)
      return tasks.filter { !ended.contains($0.taskIdentifier) }
    }

    /// Ignores the ends of tasks, also those that nobody has received yet.
    func ignore(_ tasks: [URLSessionTask]) {
      state.withLock { $0.ended.formUnion(tasks.map(\.taskIdentifier)) }
      ends.dropWaiting()
    }

    private func event(
      of file: String, _ task: URLSessionTask, _ body: [UInt8], _ error: (any Error)?
    ) -> UploadEvent {
      if let error {
        if let code = (error as? URLError)?.code, Self.isUnreadable(code) {
          return UploadEvent(file: file, outcome: .unreadable(detail: missing(file)))
        }
        return UploadEvent(file: file, outcome: .failed(LinkFailure(uploading: error)))
      }
      guard let response = task.response as? HTTPURLResponse else {
        return UploadEvent(file: file, outcome: .failed(.ended))
      }
      do throws(LinkFailure) {
        let answer = try UploadAnswer(response, body: body, to: task.originalRequest)
        if let refusal = answer.refusal { throw refusal }
        let epoch = SyncIdentity.epoch { answer.headers[$0] }
        return UploadEvent(file: file, outcome: .accepted, epoch: epoch)
      } catch {
        return UploadEvent(file: file, outcome: .failed(error))
      }
    }

    private static func isUnreadable(_ code: URLError.Code) -> Bool {
      code == .fileDoesNotExist || code == .fileIsDirectory
    }
  }

  extension URLSessionTask {
    /// The header field that repeats the name of the file: the description of a task was reported to
    /// be lost at a relaunch.
    static let fileField = "Idempotency-Key"

    /// The file that the task uploads; `nil` for a task that this package did not make.
    var uploadedFile: String? {
      taskDescription ?? originalRequest?.value(forHTTPHeaderField: Self.fileField)
    }
  }

  extension LinkFailure {
    static let lockedFile = "The file cannot be read at present; the device may be locked."

    /// Creates the failure of an upload that received no answer.
    init(uploading error: any Error) {
      self =
        switch (error as? URLError)?.code {
        case .cancelled?: .local(detail: "The system cancelled the upload.")
        case .noPermissionsToReadFile?: .local(detail: Self.lockedFile)
        case _: URLFailures.failure(error)
        }
    }
  }
#endif
