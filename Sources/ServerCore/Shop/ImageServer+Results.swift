import HoldfastCore
import HoldfastStorage
import HoldfastWire

// The results of work, and the responses.
extension ImageServer {
  /// Handles the end of work.
  mutating func done(_ token: StoreToken, _ outcome: ImageOutcome) {
    if token == cleaning {
      cleaning = nil
      return cleaned(outcome)
    }
    guard let id = work.removeValue(forKey: token) else { return }
    let read = reads.removeValue(forKey: token)
    if read != nil { startReads() }
    if let purpose = uploads.work.removeValue(forKey: token) {
      return uploaded(id, purpose, outcome)
    }
    switch outcome {
    case .stored(let image): stored(id, image)
    case .unknownType: answer(id, .unknownType)
    case .tooMany: answer(id, tooMany)
    case .found(let image): found(id, image)
    case .content(let bytes):
      guard let read, let bytes else { return answer(id, .noImage) }
      sent(read, bytes)
    case .deleted:
      (storeFailure, metrics.deleted) = (nil, metrics.deleted + 1)
      answer(id, .json("Image deleted successfully".noteBytes))
    case .failed(let failure), .unfinished(_, let failure): fail(id, failure)
    case .written, .cleaned: break  // results of other work
    }
  }

  /// Handles the end of a removal of old images, which also checks that images can be written.
  private mutating func cleaned(_ outcome: ImageOutcome) {
    if case .failed(let failure) = outcome { return failed(failure) }
    // The check does not read all images and all of the log.
    if case .corrupt? = storeFailure { return }
    storeFailure = nil
  }

  /// Records a failure of the store. The store is tried again soon, because a backend that reports
  /// a failure may receive no more images.
  private mutating func failed(_ failure: StoreFailure) {
    storeFailure = failure
    cleansAt = min(cleansAt, now.advanced(by: policy.busyRetry))
  }

  /// Handles the end of work for an upload.
  private mutating func uploaded(_ id: RequestID, _ work: Uploads.Work, _ outcome: ImageOutcome) {
    uploads.all[work.upload]?.busy = nil
    switch outcome {
    case .written(let offset) where !work.isLast:
      storeFailure = nil
      wrote(id, work, upTo: offset)
    case .stored(let image) where work.isLast:
      requests[id]?.completes = work.dialect
      stored(id, image, by: work)
      complete(work)
    case .unknownType where work.isLast:
      requests[id]?.completes = work.dialect
      answer(id, .unknownType)
      complete(work)
    case .tooMany(let offset) where work.isLast:
      note(work.upload, offset)
      answer(id, tooMany)
    case .unfinished(let offset, let failure) where work.isLast:
      note(work.upload, offset)
      fail(id, failure)
    case .failed(let failure), .unfinished(_, let failure):
      failedToWrite(work)
      fail(id, failure)
    case .written, .stored, .unknownType, .tooMany, .found, .content, .deleted, .cleaned:
      break  // results of other work
    }
    resume(work.upload)
  }

  private mutating func stored(
    _ id: RequestID, _ image: StoredImage, by work: Uploads.Work? = nil
  ) {
    storeFailure = nil
    metrics.stored += 1
    metrics.storedBytes += UInt64(image.size)
    let origin = requests[id]?.call.origin ?? ""
    let url = origin + ImageRoute.image(image.id).path
    if let work, work.dialect == .tus {
      var response = tusEnd(of: work)
      response.fields.append(UploadField("Content-Location", url))
      return answer(id, response)
    }
    let body = Envelope.image(
      ShopImage(id: image.id, shop: image.shop, url: url, type: image.type),
      note: "Image uploaded successfully")
    answer(id, .json(body))
  }

  private mutating func sent(_ read: Read, _ bytes: [UInt8]) {
    let image = read.image
    metrics.served += 1
    metrics.servedBytes += UInt64(bytes.count)
    var fields = image.validators
    fields += [
      UploadField("Content-Type", image.type.mediaType),
      UploadField("Content-Disposition", "inline"), UploadField("Accept-Ranges", "bytes"),
      UploadField("X-Content-Type-Options", "nosniff"),
    ]
    if read.isPart {
      let bounds = "\(read.range.lowerBound)-\(read.range.upperBound - 1)"
      fields.append(UploadField("Content-Range", "bytes \(bounds)/\(image.size)"))
    }
    answer(read.request, ImageAnswer(read.isPart ? 206 : 200, fields, bytes))
  }

  private var tooMany: ImageAnswer {
    .error(
      429, "\(Self.mostUnclaimed) images wait for their messages; post or delete them first",
      retryAfter: policy.busyRetry)
  }

  /// Answers a request whose work failed.
  private mutating func fail(_ id: RequestID, _ failure: StoreFailure) {
    failed(failure)
    metrics.storeFailures += 1
    answer(id, .error(503, "the store failed", retryAfter: policy.busyRetry))
  }

  /// Answers a request unless its client has disconnected.
  mutating func answer(_ id: RequestID, _ answer: ImageAnswer) {
    guard let pending = requests.removeValue(forKey: id) else { return }
    var answer = answer
    if let dialect = pending.completes {
      answer.fields += UploadFields(dialect, isComplete: true).fields
    }
    let tus = UploadDialect.tus.fields
    let isTus = pending.call.speaksOtherTus || pending.call.upload?.dialect == .tus
    if isTus, !answer.fields.contains(tus[0]) { answer.fields += tus }
    metrics.requests.answered(
      pending.call.name, status: answer.status, after: pending.since.duration(to: now))
    frame.emit(.answer(id, answer))
  }
}
