import HoldfastCore
import HoldfastJSON
import HoldfastMessageData
import HoldfastServerParts
import HoldfastUploads

// The results of work, and the responses.
extension ImageServer {
  /// Handles the end of work.
  mutating func done(_ token: StoreToken, _ outcome: ImageOutcome) {
    if cleaning.end(token) { return cleaned(outcome) }
    guard let work = work.take(token) else { return }
    let id = work.request
    if let purpose = uploads.end(token) { return uploaded(id, purpose, outcome) }
    switch outcome {
    case .stored(let image): stored(id, image)
    case .unknownType: answer(id, .unknownType)
    case .tooMany(let wait): tooMany(id, wait)
    case .found(let image): found(id, image)
    case .content(let content): if let download = work.download { opened(download, content) }
    case .deleted:
      cleaning.succeed()
      metrics.deleted += 1
      answer(id, .json("Image deleted successfully".noteBytes))
    case .failed(let failure), .unfinished(_, let failure): fail(id, failure)
    case .written, .cleaned: break  // results of other work
    }
  }

  /// Handles the end of a removal of old images, which also checks that images can be written.
  private mutating func cleaned(_ outcome: ImageOutcome) {
    if case .failed(let failure) = outcome { return failed(failure) }
    cleaning.clean()
  }

  /// Records a failure of the store. The store is tried again soon, because a backend that reports
  /// a failure may receive no more images.
  private mutating func failed(_ failure: StoreFailure) {
    cleaning.fail(failure, retryAt: now.advanced(by: policy.busyRetry))
  }

  /// Handles the end of work for an upload.
  private mutating func uploaded(_ id: RequestID, _ work: Uploads.Work, _ outcome: ImageOutcome) {
    switch outcome {
    case .written(let offset) where !work.isLast:
      cleaning.succeed()
      wrote(id, work, upTo: offset)
    case .stored(let image) where work.isLast:
      requests[id]?.completes = work.dialect
      stored(id, image, by: work)
      complete(work)
    case .unknownType where work.isLast:
      requests[id]?.completes = work.dialect
      answer(id, .unknownType)
      complete(work)
    case .tooMany(let wait) where work.isLast:
      note(work.upload, work.end)
      tooMany(id, wait)
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
    cleaning.succeed()
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

  /// Handles the end of the opening of an image's file.
  private mutating func opened(_ download: Download, _ content: ImageContent) {
    switch content {
    case .ready: send(download)
    case .missing: answer(download.request, .noImage)
    case .damaged:
      // Other images are not affected, so neither is the health.
      metrics.storeFailures += 1
      answer(download.request, .error(500, "the image is damaged or cannot be read"))
    }
  }

  private mutating func send(_ download: Download) {
    let image = download.image
    if requests[download.request]?.call.method == "GET" {
      metrics.served += 1
      metrics.servedBytes += UInt64(download.range.count)
    }
    var fields = image.validators
    fields += [
      UploadField("Content-Type", image.type.mediaType),
      UploadField("Content-Disposition", "inline"), UploadField("Accept-Ranges", "bytes"),
      UploadField("X-Content-Type-Options", "nosniff"),
    ]
    if download.isPart {
      let bounds = "\(download.range.lowerBound)-\(download.range.upperBound - 1)"
      fields.append(UploadField("Content-Range", "bytes \(bounds)/\(image.size)"))
    }
    var response = ImageAnswer(download.isPart ? 206 : 200, fields)
    response.content = download.range
    answer(download.request, response)
  }

  /// Refuses an image until the oldest unclaimed one has expired and was removed.
  private mutating func tooMany(_ id: RequestID, _ wait: Duration) {
    // An image is removed when it is older than the limit.
    cleaning.plan(at: now.advanced(by: wait + .milliseconds(1)))
    answer(
      id,
      .error(
        429, "\(Self.mostUnclaimed) images wait for their messages; post or delete them first",
        retryAfter: wait + .seconds(1)))
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
    frame.emit(.answer(id, answer))
  }
}
