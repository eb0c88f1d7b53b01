#if canImport(Darwin) || canImport(BackgroundSession)
  import Foundation
  public import HoldfastCore
  public import HoldfastFeaturePorts
  public import HoldfastPorts
  public import HoldfastSyncData
  public import HoldfastUploads
  import Synchronization
  #if canImport(BackgroundSession)
    import BackgroundSession
    import class FoundationNetworking.HTTPURLResponse
    import struct FoundationNetworking.URLRequest
  #endif

  /// A queue of uploads that the system makes. They continue while the app is suspended, and after the
  /// system has ended it.
  ///
  /// The app creates it in each launch, before the launch ends, because the system reports the ends of
  /// uploads only to a session with the same identifier. A process must create one queue for each
  /// identifier, and keep it: after `stop()`, `events` may be called again, also for another user.
  ///
  /// Uploads are not compressed and do not resume in pieces. The system follows redirects, and the
  /// answer of another address counts as a redirect, which the server must not send. The system keeps
  /// the requests, each with its token; this class stores no token.
  public final class BackgroundUploads: UploadQueue {
    private struct State {
      /// The files for which a call of `enqueue` is making uploads.
      var starting: Set<String> = []
      /// The number of ended deliveries. A call of `enqueue` from before an end starts nothing.
      var ended: UInt64 = 0
    }

    /// The identifier of the background session.
    public let session: String?
    private let target: UploadTarget
    private let requests: SyncRequests
    private let urlSession: URLSession
    private let delegate: UploadDelegate
    private let secrets: SyncSecrets
    private let pauses: UploadPauses
    private let state = Mutex(State())

    /// Creates a queue, and adopts the uploads of earlier processes.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the background session, which is the same in each launch.
    ///   - target: The server and the files.
    public init(identifier: String, _ target: UploadTarget) {
      (session, self.target) = (identifier, target)
      requests = SyncRequests(to: target.server)
      let secrets = SyncSecrets(limit: target.secretLimit, clock: target.clock, target.secret)
      let pauses = UploadPauses(target.clock)
      (self.secrets, self.pauses) = (secrets, pauses)
      let directory = target.directory
      delegate = UploadDelegate { failure, used in
        if let used { secrets.note(failure, of: used) }
        pauses.note(failure)
      } missing: { file in
        "\(directory.appendingPathComponent(file).path) does not exist."
      }
      let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
      configuration.sessionSendsLaunchEvents = true
      configuration.isDiscretionary = false
      configuration.httpShouldSetCookies = false
      urlSession = URLSession(
        configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    /// Begins to deliver the ends of uploads. The token is read again for the next request, since it
    /// may be that of another user.
    public func events(_ deliver: @escaping @Sendable (UploadEvent) async -> Void) async {
      secrets.begin()
      pauses.begin()
      delegate.ends.begin { [pauses] event in
        let number = pauses.number(after: event.outcome)
        await deliver(event)
        pauses.told(number)
      }
    }

    /// Returns the files of all uploads whose ends were not delivered, and starts those that an earlier
    /// process made but could not start.
    public func running() async -> Set<String> {
      await unfinishedTasks().union(delegate.ends.unfinished)
    }

    /// Starts uploads, except of files that are being uploaded already.
    ///
    /// If the server asks for a pause before they are started, they end with the same failure.
    public func enqueue(_ uploads: [FileUpload]) async {
      let known = pauses.known
      // Only one call at a time makes the upload of a file.
      let (claimed, ended) = state.withLock { state in
        (uploads.filter { state.starting.insert($0.file).inserted }, state.ended)
      }
      defer { state.withLock { $0.starting.subtract(claimed.map(\.file)) } }
      // A file whose end is being delivered may be uploaded again.
      let running = await unfinishedTasks().union(delegate.ends.waiting)
      let new = claimed.filter { !running.contains($0.file) }
      guard !new.isEmpty else { return }
      let secret: Result<String, LinkFailure>
      do throws(LinkFailure) {
        secret = .success(try await secrets.present())
      } catch {
        secret = .failure(error)
      }
      // Under the lock, so that `cancelAll` either finds these tasks, or none is made after it.
      state.withLock { state in
        if state.ended == ended { start(new, secret, since: known) }
      }
    }

    private func start(
      _ uploads: [FileUpload], _ secret: Result<String, LinkFailure>,
      since known: UploadPause.Number
    ) {
      do throws(LinkFailure) {
        if let paused = pauses.failure(since: known) { throw paused }
        let secret = try secret.get()
        guard let url = URL(string: requests.endpoint) else {
          throw .local(detail: "The server's address is not a URL.")
        }
        let tasks = uploads.compactMap { task(of: $0, to: url, secret) }
        if !tasks.isEmpty { delegate.ends.expectMore() }
        // All at once: the system delays what is started one by one in the background.
        for task in tasks { task.resume() }
      } catch {
        for upload in uploads { put(.failed(error), of: upload) }
      }
    }

    /// Returns the files of the system's uploads that have not ended, and starts those that an earlier
    /// process could not start. Uploads to another address are cancelled: the app has another server
    /// since then. Their ends are reported as failures.
    private func unfinishedTasks() async -> Set<String> {
      await withCheckedContinuation { done in
        urlSession.getAllTasks { [delegate, url = URL(string: requests.endpoint)] tasks in
          let tasks = delegate.unfinished(tasks)
          for task in tasks {
            if task.originalRequest?.url != url {
              task.cancel()
            } else if task.state == .suspended {
              task.resume()
            }
          }
          done.resume(returning: Set(tasks.compactMap(\.uploadedFile)))
        }
      }
    }

    /// Returns a task that uploads a file; `nil` if the file cannot be read, which ends the upload.
    private func task(of upload: FileUpload, to url: URL, _ secret: String) -> URLSessionTask? {
      let file = target.directory.appendingPathComponent(upload.file)
      guard FileManager.default.fileExists(atPath: file.path) else {
        put(.unreadable(detail: "\(file.path) does not exist."), of: upload)
        return nil
      }
      // A task of a file that cannot be opened raises an exception, which would end the app.
      guard Self.isReadable(file) else {
        put(.failed(.local(detail: LinkFailure.lockedFile)), of: upload)
        return nil
      }
      var request = URLRequest(url: url)
      request.httpMethod = "POST"
      request.setValue("application/json", forHTTPHeaderField: "Accept")
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
      request.setValue(Authorization.field(secret), forHTTPHeaderField: Authorization.name)
      request.setValue(upload.file, forHTTPHeaderField: URLSessionTask.fileField)
      let task = urlSession.uploadTask(with: request, fromFile: file)
      task.taskDescription = upload.file
      return task
    }

    /// Returns whether a file can be opened and read. On a locked device, the permissions of a
    /// protected file do not say so.
    private static func isReadable(_ file: URL) -> Bool {
      guard let handle = try? FileHandle(forReadingFrom: file) else { return false }
      defer { try? handle.close() }
      do {
        _ = try handle.read(upToCount: 1)
        return true
      } catch {
        return false
      }
    }

    private func put(_ outcome: UploadOutcome, of upload: FileUpload) {
      delegate.ends.put(UploadEvent(file: upload.file, outcome: outcome))
    }

    public func identify() async throws(LinkFailure) -> SyncIdentity {
      let used = try await secrets.present()
      do throws(LinkFailure) {
        let answer = try await target.http.answer(to: requests.owner(of: target.deviceID()), used)
        var support = UploadSupport()
        return try support.identified(answer, server: requests.server).get()
      } catch {
        secrets.note(error, of: used)
        throw error
      }
    }

    public func renewSecret() async -> Bool { await secrets.renew() }

    public func refresh() async -> LinkFailure? {
      do throws(LinkFailure) {
        return try await target.http.answer(to: requests.refresh, try await secrets.present())
          .refusal
      } catch {
        return error
      }
    }

    public func woken(_ wake: Wake) async { delegate.ends.put(wake) }

    /// Ends the delivery. Uploads continue; the ends that this process still receives wait for the next
    /// call of `events`. A call of `enqueue` that waits for the token starts nothing.
    public func stop() async {
      endCalls()
      await delegate.ends.stop()
    }

    public func cancelAll() async {
      endCalls()
      await withCheckedContinuation { done in
        urlSession.getAllTasks { [delegate] tasks in
          delegate.ignore(tasks)
          for task in tasks { task.cancel() }
          done.resume()
        }
      }
    }

    /// Ends the calls of `enqueue` in progress, and forgets the token.
    private func endCalls() {
      state.withLock { $0.ended += 1 }
      secrets.end()
    }
  }
#endif
