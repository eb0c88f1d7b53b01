import HoldfastCore
import HoldfastUploads

/// The action that follows an unsuccessful response.
enum UploadConsequence {
  case retryAll, retryType, newSecret, split, quarantine

  init(_ failure: LinkFailure) {
    guard case .http(let status, _, _) = failure else {
      self = .retryAll
      return
    }
    self =
      switch status {
      case 401: .newSecret
      case 413: .split
      case _ where UploadReply.concernsAllBatches(status): .retryAll
      case 400..<500: .quarantine
      // Another server error may concern only one batch. The same applies to a successful response
      // whose body reports that the batch was not stored.
      case 200..<300, 500..<600: .retryType
      case _: .retryAll
      }
  }
}
