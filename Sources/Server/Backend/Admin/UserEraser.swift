import HoldfastCore
import HoldfastFeaturePorts
import HoldfastIdentity
import HoldfastMessageServer
import HoldfastOperators
import HoldfastPorts
import HoldfastServerParts
import HoldfastServerSockets

/// The erasure of everything that a backend stores about one user.
///
/// Each step can be repeated, so that an erasure that was interrupted begins anew.
struct UserEraser: Sendable {
  let sockets: SocketServer<BackendHandler>
  let messages: any MessageLog
  let images: any ImageContents
  let samples: any SyncStore
  /// The files of incomplete uploads.
  let uploads: [UploadFiles]
  let secrets: SyncSecretFile
  let role: RoleErasure
  /// A function that removes a user from the list of removed members, which names the user.
  let readmit: @Sendable (String) async throws(StoreFailure) -> Void

  /// The number of records of samples that are erased in one transaction.
  private static let recordsAtOnce = 5_000
  /// The number of messages that are deleted at once.
  private static let deletionsAtOnce = 64
  /// The time between two such groups: 1,000 deletions a second, each of which is a frame for each
  /// follower of its shop.
  private static let pace = Duration.milliseconds(64)
  /// The number of searches that may find messages in one attempt. Whoever goes on posting could
  /// otherwise hold up the erasures of all others.
  private static let mostSearches = 5

  /// Erases a user.
  ///
  /// - Parameter note: A function that receives the numbers of what was erased.
  func erase(
    _ user: String, _ note: @Sendable (EraseJob.Counts) async -> Void
  ) async throws(StoreFailure) {
    await disconnect(user)
    // Without a secret, no phone can send samples again.
    try secrets.remove(user)
    try await eraseSamples(of: user, note)
    try await role.erase(user)
    try await eraseMessages(of: user, note)
    try await eraseUploads(of: user, note)
    try await readmit(user)
    try await removeTraces()
    await disconnect(user)
  }

  /// Closes the connections of a user for good.
  private func disconnect(_ user: String) async {
    await sockets.run { handler, hub in
      handler.turn(on: hub) { handler in
        _ = handler.disconnect({ $0.user == user }, AdminClosing.forbidden.closure)
      }
    }
  }

  private func eraseSamples(
    of user: String, _ note: @Sendable (EraseJob.Counts) async -> Void
  ) async throws(StoreFailure) {
    guard let store = samples as? any ErasableSyncStore else { throw .cannotErase }
    while true {
      let erased = try await store.erase(user, atMost: Self.recordsAtOnce)
      guard erased > 0 else { return }
      var counts = EraseJob.Counts()
      counts.records = erased
      await note(counts)
      try cancelIfStopped()
    }
  }

  private func eraseUploads(
    of user: String, _ note: @Sendable (EraseJob.Counts) async -> Void
  ) async throws(StoreFailure) {
    for files in uploads {
      var counts = EraseJob.Counts()
      counts.uploads = await files.removeAll(of: user)
      if counts.uploads > 0 { await note(counts) }
    }
  }

  // MARK: - Messages

  /// Deletes the messages of a user until a search of the whole log finds none.
  ///
  /// - Throws: `.other` also if too many searches find some.
  private func eraseMessages(
    of user: String, _ note: @Sendable (EraseJob.Counts) async -> Void
  ) async throws(StoreFailure) {
    guard let log = messages as? any AuthoredLog else { throw .cannotErase }
    var (hasFound, searches) = (true, 0)
    while hasFound {
      guard searches < Self.mostSearches else { throw .goesOnPosting }
      hasFound = false
      var areDeleted = true
      var place: LogPlace?
      repeat {
        let part = try await log.messages(by: user, after: place)
        if try await !deleteAll(part.messages, note) { areDeleted = false }
        hasFound = hasFound || !part.messages.isEmpty
        place = part.end
      } while place != nil
      // What could not be deleted is found again.
      if areDeleted { searches += 1 }
    }
    try await log.deleteUnclaimedImages(of: user)
    try await images.removeDeleted(of: log)
  }

  /// Deletes messages at the pace. Returns false if some could not be deleted now.
  private func deleteAll(
    _ messages: [AuthoredMessages.Message], _ note: @Sendable (EraseJob.Counts) async -> Void
  ) async throws(StoreFailure) -> Bool {
    var (rest, areDeleted) = (messages[...], true)
    while !rest.isEmpty {
      let next = BootClock().now.advanced(by: Self.pace)
      let some = Array(rest.prefix(Self.deletionsAtOnce))
      rest = rest.dropFirst(some.count)
      var counts = EraseJob.Counts()
      let (number, hasFailed) = try await delete(some)
      counts.messages = number
      if hasFailed { areDeleted = false }
      await note(counts)
      try cancelIfStopped()
      try? await BootClock().wait(until: next)
    }
    return areDeleted
  }

  /// Deletes messages as a client would, so that all clients learn of it. Returns their number, and
  /// whether some could not be deleted now.
  private func delete(
    _ messages: [AuthoredMessages.Message]
  ) async throws(StoreFailure) -> (number: Int, hasFailed: Bool) {
    let answers = await withTaskGroup(of: Answer.self) { group in
      for message in messages { group.addTask { await delete(message) } }
      return await group.reduce(into: [Answer]()) { $0.append($1) }
    }
    // A message that is unknown now was deleted in the meantime.
    let failed = answers.first { $0.status != 200 && $0.status != 404 }
    if let failed {
      let wait = failed.retryAfter ?? .seconds(1)
      guard failed.status == 429 || failed.status == 503 else {
        throw .other(detail: "A message cannot be deleted: status \(failed.status).")
      }
      try? await BootClock().wait(until: BootClock().now.advanced(by: min(wait, .seconds(5))))
    }
    return (answers.count { $0.status == 200 }, failed != nil)
  }

  private func delete(_ message: AuthoredMessages.Message) async -> Answer {
    await withCheckedContinuation { (done: CheckedContinuation<Answer, Never>) in
      sockets.inject { handler, hub in
        handler.turn(on: hub) { handler in
          let isHere = handler.work(on: ShopService.self) { runner in
            runner.delete(message) { done.resume(returning: $0) }
          }
          if !isHere { done.resume(returning: .error(503, "stopping")) }
        }
      }
    }
  }

  // MARK: - Files

  /// Writes the files of the stores anew.
  private func removeTraces() async throws(StoreFailure) {
    let stores: [any SuspendableStore] = [messages, samples]
    for store in stores + (await role.stores) {
      if let files = store as? any RewritableStore { try await files.rewrite() }
      try cancelIfStopped()
    }
  }

  private func cancelIfStopped() throws(StoreFailure) {
    if Task.isCancelled { throw .closed }
  }
}

extension StoreFailure {
  fileprivate static let goesOnPosting = StoreFailure.other(
    detail: "The user goes on posting. End the account at the issuer of its tokens.")
  fileprivate static let cannotErase = StoreFailure.other(
    detail: "This store cannot erase a user. Use one of the backend's own stores.")
}

extension UploadFiles {
  /// Removes the uploads of a user. Returns their number.
  fileprivate func removeAll(of user: String) async -> Int {
    // On this queue, no upload is written meanwhile.
    await Task.detached(executorPreference: queue) {
      let own = stored(at: BootClock().wall).filter { $0.record.user == user }
      for upload in own { remove(upload.id) }
      return own.count
    }.value
  }
}

extension ServiceRunner where S == ShopService {
  /// Posts a message in the name of a user, as a request of that user would. The service answers the
  /// request.
  func publish(_ post: AdminPost, as request: RequestID, _ line: LogLine) {
    enter { service, context in
      context.enter(request, line)
      let claims = post.claims(until: Timestamp(nanoseconds: .max))
      return .request(
        request, post.call(service.limits), .valid(claims), wall: BootClock().wall)
    }
  }

  /// Deletes a message. `done` receives the answer once the deletion is durable.
  func delete(
    _ message: AuthoredMessages.Message, _ done: @escaping @Sendable (Answer) -> Void
  ) {
    enter { service, _ in
      let request = service.expect(done)
      let claims = Claims(
        user: ShopServer.operatorUser, name: "", shops: [message.shop], admin: [message.shop],
        expiresAt: Timestamp(nanoseconds: .max))
      return .request(
        request, .delete(message.id, shop: message.shop), .valid(claims), wall: BootClock().wall)
    }
  }
}
