// What of the stream is told a second time: see `Twin`.
extension StreamWorld {
  static var walks: [Walk] {
    [
      StreamWireWalk.steps(1), TokenWalk.steps(2), StreamKeptWalk.steps(60),
      StreamPhoneWalk.steps(260), PartsWalk.steps(8), PartsProxiesWalk.steps(16),
      PartsDoorsWalk.steps(16), ShopWordsWalk.steps(6), ShopWalk.steps(150),
    ]
  }
}
