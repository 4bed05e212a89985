#!/bin/bash
# A real Postfix, with Dovecot for the logins, on loopback and wholly below one
# folder. It never touches a Postfix of the system and lets no mail out.
#
#   postfix-up.sh start DIR SUBMISSION_PORT SMTPS_PORT    as root
#   postfix-up.sh stop DIR
#
# SUBMISSION_PORT wants STARTTLS and a login, SMTPS_PORT is TLS from the first byte
# and wants a login: alice / secret. The authority is DIR/tls/ca.pem. Mail for
# alice and bob at example.net lands in Maildirs, DIR/mail/alice/new and so on, mail
# for anyone else there in DIR/mail/all/new. DIR/ports has both ports, one a line.
#
# Refused, in Postfix's own words:
#   nouser@example.net    550 5.1.1 at RCPT    full@example.net      452 4.2.2 at RCPT
#   greylist@example.net  450 4.2.0 at RCPT    shutdown@example.net  421 4.3.2 at RCPT
#   a sender blocked@example.org  554 5.7.1, which Postfix says at RCPT too
#   a body line "lab: refuse this"  550 5.7.1 after the final dot
set -eu

usage() { sed -n '2,20s/^# \{0,1\}//p' "$0" >&2; exit 2; }

stop() {
  if [ -f "$DIR/etc/main.cf" ]; then
    postfix -c "$DIR/etc" stop 2>/dev/null || true
  fi
  if [ -f "$DIR/dovecot/run/master.pid" ]; then
    pid=$(cat "$DIR/dovecot/run/master.pid")
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 50); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
  fi
}

# An authority and a certificate of it for localhost.
certificates() {
  cd "$DIR/tls"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
    -subj "/CN=test authority" -keyout ca.key -out ca.pem 2>/dev/null
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -subj "/CN=localhost" -keyout key.pem -out request.pem 2>/dev/null
  echo "subjectAltName=DNS:localhost,IP:127.0.0.1" > names
  openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 \
    -extfile names -out cert.pem 2>/dev/null
  cd - >/dev/null
}

postfix_config() {
  cat > "$DIR/etc/main.cf" <<CF
compatibility_level = 3.6
queue_directory = $DIR/spool
data_directory = $DIR/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file = $DIR/maillog
maillog_file_prefixes = $DIR
inet_interfaces = loopback-only
inet_protocols = ipv4
myhostname = localhost
myorigin = example.test
mydestination =
mynetworks = 127.0.0.0/8
alias_maps =
alias_database =
biff = no
smtputf8_enable = yes
local_transport = error:no local users
default_transport = error:5.1.2 test: nothing leaves this machine
relay_transport = \$default_transport
virtual_mailbox_domains = example.net
virtual_mailbox_base = $DIR/mail
virtual_mailbox_maps = texthash:$DIR/etc/mailboxes
virtual_minimum_uid = 100
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
body_checks = regexp:$DIR/etc/bodies
smtpd_tls_cert_file = $DIR/tls/cert.pem
smtpd_tls_key_file = $DIR/tls/key.pem
smtpd_sasl_type = dovecot
smtpd_sasl_path = private/auth
smtpd_sasl_auth_enable = yes
smtpd_tls_auth_only = yes
smtpd_sender_restrictions = check_sender_access texthash:$DIR/etc/senders
smtpd_relay_restrictions = permit_sasl_authenticated, reject
smtpd_recipient_restrictions = check_recipient_access texthash:$DIR/etc/recipients, permit_sasl_authenticated, reject
CF
  cat > "$DIR/etc/mailboxes" <<'CF'
alice@example.net alice/
bob@example.net   bob/
@example.net      all/
CF
  cat > "$DIR/etc/recipients" <<'CF'
nouser@example.net   550 5.1.1 User unknown
greylist@example.net 450 4.2.0 Greylisted, try again in 300 seconds
full@example.net     452 4.2.2 Mailbox full
shutdown@example.net 421 4.3.2 Shutting down
CF
  echo "blocked@example.org 554 5.7.1 Blocked by the test" > "$DIR/etc/senders"
  echo "/^lab: refuse this/ REJECT 5.7.1 Refused by the test" > "$DIR/etc/bodies"
  cat > "$DIR/etc/master.cf" <<CF
127.0.0.1:$1 inet n - n - - smtpd -o smtpd_tls_security_level=encrypt
127.0.0.1:$2 inet n - n - - smtpd -o smtpd_tls_wrappermode=yes
cleanup   unix n - n - 0 cleanup
qmgr      unix n - n 300 1 qmgr
rewrite   unix - - n - - trivial-rewrite
bounce    unix - - n - 0 bounce
defer     unix - - n - 0 bounce
trace     unix - - n - 0 bounce
proxymap  unix - - n - - proxymap
tlsmgr    unix - - n 1000? 1 tlsmgr
anvil     unix - - n - 1 anvil
scache    unix - - n - 1 scache
error     unix - - n - - error
retry     unix - - n - - error
virtual   unix - n n - - virtual
postlog   unix-dgram n - n - 1 postlogd
CF
}

dovecot_config() {
  echo "alice:{PLAIN}secret" > "$DIR/dovecot/users"
  cat > "$DIR/dovecot/dovecot.conf" <<CF
protocols =
listen = 127.0.0.1
base_dir = $DIR/dovecot/run
log_path = $DIR/dovecot/log
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain login cram-md5 scram-sha-256
passdb {
  driver = passwd-file
  args = scheme=PLAIN username_format=%u $DIR/dovecot/users
}
userdb {
  driver = static
  args = uid=65534 gid=65534 home=/nonexistent
}
service auth {
  unix_listener $DIR/spool/private/auth {
    mode = 0660
    user = postfix
    group = postfix
  }
}
CF
}

start() {
  umask 022
  mkdir -p "$DIR"/{etc,spool,data,mail,tls,dovecot/run}
  chmod 755 "$DIR"
  chown 65534:65534 "$DIR/mail" # virtual(8) delivers as this user
  chown postfix "$DIR/data"
  [ -f "$DIR/tls/cert.pem" ] || certificates
  postfix_config "$1" "$2"
  dovecot_config
  postfix -c "$DIR/etc" check
  # The daemons must not keep the pipe open that a caller reads our output from.
  postfix -c "$DIR/etc" start </dev/null >/dev/null 2>&1
  dovecot -c "$DIR/dovecot/dovecot.conf" </dev/null >/dev/null 2>&1
  for _ in $(seq 100); do
    if [ -S "$DIR/spool/private/auth" ] && (exec 3<>"/dev/tcp/127.0.0.1/$1" 4<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; then
      printf '%s\n' "$1" "$2" > "$DIR/ports"
      return
    fi
    sleep 0.1
  done
  echo "postfix-up.sh: no answer after 10 s; see $DIR/maillog and $DIR/dovecot/log" >&2
  stop
  exit 1
}

[ $# -ge 2 ] || usage
DIR=$(realpath -m "$2")
case $1 in
start) [ $# -eq 4 ] || usage; start "$3" "$4" ;;
stop) stop ;;
*) usage ;;
esac
