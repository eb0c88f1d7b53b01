// The part of Foundation that makes HTTP requests.
#pragma once
#include "Foundation.h"
#pragma clang assume_nonnull begin

@class NSURLSession, NSURLSessionTask, NSURLSessionDataTask, NSURLSessionUploadTask;

SENDABLE BRIDGED_TO(Foundation.URLRequest)
@interface NSURLRequest : NSObject <NSCopying, NSSecureCoding>
@end
SENDABLE SWIFT_NAME(URLResponse)
@interface NSURLResponse : NSObject <NSCopying, NSSecureCoding>
@property(nullable, readonly, copy) NSURL *URL;
@property(readonly) long long expectedContentLength;
@end
SENDABLE SWIFT_NAME(HTTPURLResponse)
@interface NSHTTPURLResponse : NSURLResponse
- (nullable instancetype)initWithURL:(NSURL *)url statusCode:(NSInteger)statusCode HTTPVersion:(nullable NSString *)HTTPVersion headerFields:(nullable NSDictionary<NSString *, NSString *> *)headerFields;
@property(readonly) NSInteger statusCode;
@property(readonly, copy) NSDictionary *allHeaderFields;
- (nullable NSString *)valueForHTTPHeaderField:(NSString *)field IOS(13.0) WATCHOS(6.0);
@end

typedef enum OPEN_ENUM SWIFT_NAME(NSURLRequest.CachePolicy) NSURLRequestCachePolicy : NSUInteger {
  NSURLRequestUseProtocolCachePolicy = 0,
  NSURLRequestReloadIgnoringLocalCacheData = 1,
} NSURLRequestCachePolicy;
typedef enum OPEN_ENUM SWIFT_NAME(URLSession.AuthChallengeDisposition) NSURLSessionAuthChallengeDisposition : NSInteger {
  NSURLSessionAuthChallengeUseCredential = 0,
  NSURLSessionAuthChallengePerformDefaultHandling = 1,
  NSURLSessionAuthChallengeCancelAuthenticationChallenge = 2,
  NSURLSessionAuthChallengeRejectProtectionSpace = 3,
} NSURLSessionAuthChallengeDisposition;
typedef enum OPEN_ENUM SWIFT_NAME(URLSession.ResponseDisposition) NSURLSessionResponseDisposition : NSInteger {
  NSURLSessionResponseCancel = 0,
  NSURLSessionResponseAllow = 1,
} NSURLSessionResponseDisposition;
typedef enum OPEN_ENUM SWIFT_NAME(URLSessionTask.State) NSURLSessionTaskState : NSInteger {
  NSURLSessionTaskStateRunning = 0,
  NSURLSessionTaskStateSuspended = 1,
  NSURLSessionTaskStateCanceling = 2,
  NSURLSessionTaskStateCompleted = 3,
} NSURLSessionTaskState;

SENDABLE SWIFT_NAME(URLProtectionSpace)
@interface NSURLProtectionSpace : NSObject
@property(readonly, copy) NSString *authenticationMethod;
@end
SENDABLE SWIFT_NAME(URLCredential)
@interface NSURLCredential : NSObject
@end
SENDABLE SWIFT_NAME(URLAuthenticationChallenge)
@interface NSURLAuthenticationChallenge : NSObject
@property(readonly, copy) NSURLProtectionSpace *protectionSpace;
@end
extern NSString *const NSURLAuthenticationMethodServerTrust;
SENDABLE SWIFT_NAME(URLCache)
@interface NSURLCache : NSObject
@end
SENDABLE SWIFT_NAME(HTTPCookieStorage)
@interface NSHTTPCookieStorage : NSObject
@end
SENDABLE SWIFT_NAME(URLCredentialStorage)
@interface NSURLCredentialStorage : NSObject
@end

SENDABLE SWIFT_NAME(URLSessionConfiguration)
@interface NSURLSessionConfiguration : NSObject <NSCopying>
@property(class, readonly, strong) NSURLSessionConfiguration *defaultSessionConfiguration SWIFT_NAME(default);
@property(class, readonly, strong) NSURLSessionConfiguration *ephemeralSessionConfiguration SWIFT_NAME(ephemeral);
+ (NSURLSessionConfiguration *)backgroundSessionConfigurationWithIdentifier:(NSString *)identifier SWIFT_NAME(background(withIdentifier:));
@property(nullable, readonly, copy) NSString *identifier;
@property NSURLRequestCachePolicy requestCachePolicy;
@property NSTimeInterval timeoutIntervalForRequest;
@property NSTimeInterval timeoutIntervalForResource;
@property BOOL allowsCellularAccess;
@property BOOL allowsExpensiveNetworkAccess IOS(13.0) WATCHOS(6.0);
@property BOOL allowsConstrainedNetworkAccess IOS(13.0) WATCHOS(6.0);
@property BOOL waitsForConnectivity;
@property(getter=isDiscretionary) BOOL discretionary;
@property(nullable, copy) NSString *sharedContainerIdentifier;
@property BOOL sessionSendsLaunchEvents;
@property BOOL HTTPShouldUsePipelining;
@property BOOL HTTPShouldSetCookies;
@property NSInteger HTTPMaximumConnectionsPerHost;
@property(nullable, copy) NSDictionary *HTTPAdditionalHeaders;
@property(nullable, retain) NSHTTPCookieStorage *HTTPCookieStorage;
@property(nullable, retain) NSURLCredentialStorage *URLCredentialStorage;
@property(nullable, retain) NSURLCache *URLCache;
@end

SENDABLE SWIFT_NAME(URLSessionTask)
@interface NSURLSessionTask : NSObject <NSCopying>
@property(readonly) NSUInteger taskIdentifier;
@property(nullable, readonly, copy) NSURLRequest *originalRequest;
@property(nullable, readonly, copy) NSURLRequest *currentRequest;
@property(nullable, readonly, copy) NSURLResponse *response;
@property(readonly) long long countOfBytesSent;
@property(readonly) long long countOfBytesExpectedToSend;
@property(nullable, copy) NSString *taskDescription;
@property(readonly) NSURLSessionTaskState state;
@property(nullable, readonly, copy) NSError *error;
@property float priority;
- (void)cancel;
- (void)suspend;
- (void)resume;
@end
SENDABLE SWIFT_NAME(URLSessionDataTask)
@interface NSURLSessionDataTask : NSURLSessionTask
@end
SENDABLE SWIFT_NAME(URLSessionUploadTask)
@interface NSURLSessionUploadTask : NSURLSessionDataTask
@end

SENDABLE SWIFT_NAME(URLSessionDelegate)
@protocol NSURLSessionDelegate <NSObject>
@optional
- (void)URLSession:(NSURLSession *)session didBecomeInvalidWithError:(nullable NSError *)error;
- (void)URLSession:(NSURLSession *)session didReceiveChallenge:(NSURLAuthenticationChallenge *)challenge completionHandler:(void (SENDABLE ^)(NSURLSessionAuthChallengeDisposition disposition, NSURLCredential *_Nullable credential))completionHandler;
- (void)URLSessionDidFinishEventsForBackgroundURLSession:(NSURLSession *)session;
@end
SENDABLE SWIFT_NAME(URLSessionTaskDelegate)
@protocol NSURLSessionTaskDelegate <NSURLSessionDelegate>
@optional
- (void)URLSession:(NSURLSession *)session task:(NSURLSessionTask *)task willPerformHTTPRedirection:(NSHTTPURLResponse *)response newRequest:(NSURLRequest *)request completionHandler:(void (SENDABLE ^)(NSURLRequest *_Nullable))completionHandler;
- (void)URLSession:(NSURLSession *)session task:(NSURLSessionTask *)task didSendBodyData:(long long)bytesSent totalBytesSent:(long long)totalBytesSent totalBytesExpectedToSend:(long long)totalBytesExpectedToSend;
- (void)URLSession:(NSURLSession *)session task:(NSURLSessionTask *)task didCompleteWithError:(nullable NSError *)error;
- (void)URLSession:(NSURLSession *)session taskIsWaitingForConnectivity:(NSURLSessionTask *)task;
@end
SENDABLE SWIFT_NAME(URLSessionDataDelegate)
@protocol NSURLSessionDataDelegate <NSURLSessionTaskDelegate>
@optional
- (void)URLSession:(NSURLSession *)session dataTask:(NSURLSessionDataTask *)dataTask didReceiveResponse:(NSURLResponse *)response completionHandler:(void (SENDABLE ^)(NSURLSessionResponseDisposition disposition))completionHandler;
- (void)URLSession:(NSURLSession *)session dataTask:(NSURLSessionDataTask *)dataTask didReceiveData:(NSData *)data;
@end

SENDABLE SWIFT_NAME(URLSession)
@interface NSURLSession : NSObject
+ (NSURLSession *)sessionWithConfiguration:(NSURLSessionConfiguration *)configuration;
+ (NSURLSession *)sessionWithConfiguration:(NSURLSessionConfiguration *)configuration delegate:(nullable id<NSURLSessionDelegate>)delegate delegateQueue:(nullable NSOperationQueue *)queue;
@property(readonly, retain) NSOperationQueue *delegateQueue;
@property(nullable, readonly, retain) id<NSURLSessionDelegate> delegate;
@property(readonly, copy) NSURLSessionConfiguration *configuration;
@property(nullable, copy) NSString *sessionDescription;
- (void)finishTasksAndInvalidate;
- (void)invalidateAndCancel;
- (void)getAllTasksWithCompletionHandler:(void (SENDABLE ^)(NSArray<__kindof NSURLSessionTask *> *tasks))completionHandler SWIFT_ASYNC_NAME(getter:allTasks());
- (NSURLSessionDataTask *)dataTaskWithRequest:(NSURLRequest *)request;
- (NSURLSessionUploadTask *)uploadTaskWithRequest:(NSURLRequest *)request fromFile:(NSURL *)fileURL;
@end
extern NSString *const NSURLErrorDomain;
#pragma clang assume_nonnull end
